import type { HistoryDocument } from '../../functions/domain/history.ts'
import { nextId } from '../../functions/domain/ids.ts'
import type { HistoryIndex } from '../../functions/ports/history-index.ts'

/** An index, initially empty. */
export interface HistoryIndexHarness {
  readonly index: HistoryIndex
  /** Writes documents. Searches find them once the promise has resolved. */
  store(documents: readonly HistoryDocument[]): Promise<void>
  /** Makes later reads of the index fail. */
  breakDown(): Promise<void>
  stop(): Promise<void>
}

const START = 1_750_000_000_000
export const IDS = Array.from({ length: 2_000 }, (_, place) => nextId(undefined, START + place * 1_000))
let used = 0

/** Creates a document of a new message, unless `change` names the message. */
export function document(text: string, change: Partial<HistoryDocument> = {}): HistoryDocument {
  used += 1
  const role = change.role ?? 'user'
  const part = { user: 'u', assistant: 'a', tool_call: 'c', tool_result: 'r0' }[role]
  const tool = role.startsWith('tool')
    ? ({ toolName: 'shell', toolCallId: 'call_1', status: 'completed' } as const)
    : {}
  return {
    tenant: 'acme',
    session: 's-1',
    runId: 'run-1',
    messageId: IDS[used] ?? '',
    part,
    role,
    agent: 'default',
    ...tool,
    ...(role.startsWith('tool') ? { call: 'shell(cmd="ls")' } : {}),
    text,
    time: START + used * 1_000,
    ...change,
  }
}
