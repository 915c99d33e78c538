import { definedFields } from '../../../domain/defined-fields.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import type { Lease } from '../../../domain/session.ts'
import type { FittedContent } from '../../../log/fit-content.ts'
import { callCompleted } from '../../../log/run-events.ts'
import type { EmitInOrder } from './event-sequence.ts'
import type { LoopStore } from './retrying-store.ts'

/** The result of a call, before it is stored. */
export interface CallEnd {
  readonly row: ToolMessage
  readonly status: 'completed' | 'error'
  readonly content: FittedContent
  readonly completedAt: number
  readonly durationMs: number
  readonly searched?: true
}

export interface ResultWriter {
  /** Aborts when a write fails: then nothing that builds on the results may be stored. */
  readonly signal: AbortSignal
  /**
   * Starts to store a call's result: first its object, if it has one, then its row. A request to the model may contain the result
   * before it is stored.
   */
  write(result: CallEnd): void
  /** Resolves when all writes so far are durable; rejects with the first failure. */
  settled(): Promise<void>
}

/**
 * Stores tool results concurrently with the loop, each as soon as its tool ends. `tool_call.completed` is emitted after
 * the write.
 */
export function createResultWriter(
  { log, outputs }: Pick<LoopStore, 'log' | 'outputs'>,
  lease: Lease,
  emitInOrder: EmitInOrder,
): ResultWriter {
  const failed = new AbortController()
  const pending = new Set<Promise<void>>()

  async function store({ row, content, status, completedAt, durationMs, searched }: CallEnd): Promise<void> {
    for (const { name, bytes, mediaType } of content.objects) await outputs.put(lease, name, bytes, mediaType)
    const { parts, output, sources } = content
    const result = { messageId: row.id, status, parts, output, completedAt, durationMs }
    await emitInOrder(async (position) => {
      const end = { ...result, ...definedFields({ sources, searched }), position }
      const message = await log.completeCall(lease, end)
      return { result: undefined, events: [callCompleted(message)] }
    })
  }

  return {
    signal: failed.signal,
    write(result) {
      const storing = store(result).catch((error: unknown) => failed.abort(error))
      pending.add(storing)
      // Other threads may start writes while `settled` waits. The next call of `settled` awaits these writes.
      void storing.then(() => pending.delete(storing))
    },
    async settled() {
      await Promise.all(pending)
      failed.signal.throwIfAborted()
    },
  }
}
