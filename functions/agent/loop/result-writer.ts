import type { RunEvent } from '../../domain/events.ts'
import type { ToolMessage } from '../../domain/message.ts'
import type { Lease } from '../../domain/session.ts'
import { callCompleted } from '../../log/run-events.ts'
import type { FittedContent } from '../../log/fit-content.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { RunLog } from '../../ports/run-log.ts'

export interface ResultWriter {
  /** Aborts as soon as a write has failed: then nothing that builds on the results may be stored. */
  readonly signal: AbortSignal
  /** Begins to store a call's result (its object first); the model may meanwhile be asked with it. */
  write(result: {
    readonly row: ToolMessage
    readonly status: 'completed' | 'error'
    readonly content: FittedContent
    readonly completedAt: number
    readonly durationMs: number
  }): void
  /** Resolves when every write so far is durable; rejects with the first failure. */
  settled(): Promise<void>
}

interface Dependencies {
  readonly log: RunLog
  readonly outputs: OutputStore
  readonly lease: Lease
  emit(event: RunEvent): void
}

/** Stores tool results beside the loop, each as soon as its tool has ended; `tool_call.completed` follows its write. */
export function createResultWriter({ log, outputs, lease, emit }: Dependencies): ResultWriter {
  const failed = new AbortController()
  let pending: Promise<void>[] = []

  async function store(result: Parameters<ResultWriter['write']>[0]): Promise<void> {
    const { row, content } = result
    if (content.object !== undefined)
      await outputs.put(lease, content.object.name, content.object.bytes, content.object.mediaType)
    const message = await log.completeCall(lease, {
      messageId: row.id,
      status: result.status,
      parts: content.parts,
      output: content.output,
      completedAt: result.completedAt,
      durationMs: result.durationMs,
    })
    emit(callCompleted(message))
  }

  return {
    signal: failed.signal,
    write(result) {
      pending.push(store(result).catch((error: unknown) => failed.abort(error)))
    },
    async settled() {
      await Promise.all(pending)
      pending = []
      failed.signal.throwIfAborted()
    },
  }
}
