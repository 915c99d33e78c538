import type { RowChange } from '../../functions/ports/message-rows.ts'

/** A record of a stream in memory. */
export interface MemoryRecord {
  readonly sequence: string
  readonly at?: number
  readonly change: RowChange | undefined
}

/** Ports of an indexer that reads these records from memory. No message is replaced. */
export const MEMORY_RECORDS = {
  records: {
    sequence: ({ sequence }: MemoryRecord) => sequence,
    at: ({ at }: MemoryRecord) => at,
    change: ({ change }: MemoryRecord) => change,
    superseded: () => undefined,
  },
  rows: { async *between() {} },
  reader: { replacements: async () => [] },
}
