import type { Run } from '../../domain/runs/run.ts'
import { usageResource } from '../v1/usage/resource.ts'
import { noticeData } from '../run-steps/run-step.ts'
import type { RunEnd, RunStep } from '../run-steps/run-step.ts'
import { createCalls, memberChunks } from './calls.ts'
import type { UiChunk } from './calls.ts'

export interface UiChunks {
  take(step: RunStep): UiChunk[]
  end(end: RunEnd): UiChunk[]
}

interface Options {
  /** Whether the client executes the tool with this name. */
  isClients(name: string): boolean
  /** Whether the client supports `reset-step`. */
  readonly canReset: boolean
}

/** The AI SDK's name for the end of a run. */
function uiFinishReason({ status, stopReason }: Run): string {
  if (status === 'paused') return 'tool-calls'
  return stopReason === 'output_limit' || stopReason === 'max_rounds' || stopReason === 'budget' ? 'length' : 'stop'
}

/** The metadata of the message that shows a run. */
export const uiMetadata = ({ id, usage }: Run) => ({ run_id: id, usage: usageResource(usage) })

/** Converts a run to the chunks of one message. Each round is a step, with its calls and their results. */
export function createUiChunks(options: Options): UiChunks {
  const blocks = createBlocks()
  /** Indexes of this round's calls that have started. */
  const begun = new Set<number>()
  const executed = (name: string) => (options.isClients(name) ? {} : { providerExecuted: true })
  const calls = createCalls(executed)
  return {
    take(step) {
      if (step.type === 'notice') {
        const { type } = step.event
        const data = noticeData(step.event)
        if ('message' in data) return []
        // Progress parts are transient: the message does not keep them, because there may be many.
        if (type === 'tool_call.progress') return [{ type: 'data-progress', data, transient: true }]
        return [{ type: type === 'warning' ? 'data-warning' : 'data-context', data }]
      }
      if (step.parentToolCallId !== undefined) return memberChunks(step, calls)
      switch (step.type) {
        case 'round':
          begun.clear()
          return blocks.step()
        case 'discard':
          begun.clear()
          return options.canReset ? [...blocks.reset(), { type: 'reset-step' }] : blocks.step()
        case 'text':
        case 'reasoning':
          return blocks.piece(step.type, step.text)
        case 'call': {
          const isNew = !begun.has(step.sequence)
          begun.add(step.sequence)
          // Only the first delta of a call closes the text block: text between two deltas of a call continues the same part of
          // the completion.
          return [...(isNew ? blocks.close() : []), ...calls.piece(step, isNew)]
        }
        case 'completion':
          return [...blocks.close(), ...calls.whole(step.message, options.isClients)]
        case 'call_started':
          return calls.began(step.message)
        case 'call_ended':
          return calls.ended(step.message)
        default:
          return step satisfies never
      }
    },
    end({ run, waiting }) {
      const closed = blocks.end()
      if (run.status === 'failed') {
        const errorText = run.error?.message ?? 'the run failed'
        return [...closed, { type: 'error', errorText }]
      }
      if (run.status === 'cancelled') return [...closed, { type: 'abort', reason: run.stopReason ?? 'cancelled' }]
      const asked = waiting.flatMap(({ message, arguments: text }) => calls.asked(message, text))
      const working = run.status === 'paused' ? calls.working() : []
      const finish = { type: 'finish', finishReason: uiFinishReason(run), messageMetadata: uiMetadata(run) }
      return [...working, ...asked, ...closed, finish]
    },
  }
}

/** The steps, and their text and reasoning blocks; one block is open at a time. */
function createBlocks() {
  let open: { readonly type: 'text' | 'reasoning'; readonly id: string } | undefined
  let count = 0
  let isInStep = false
  const close = (): UiChunk[] => {
    const closed = open === undefined ? [] : [{ type: `${open.type}-end`, id: open.id }]
    open = undefined
    return closed
  }
  const end = (): UiChunk[] => {
    const chunks = [...close(), ...(isInStep ? [{ type: 'finish-step' }] : [])]
    isInStep = false
    return chunks
  }
  return {
    close,
    end,
    step(): UiChunk[] {
      const before = end()
      isInStep = true
      return [...before, { type: 'start-step' }]
    },
    /** Forgets the open block. The client drops that block together with its step. */
    reset(): UiChunk[] {
      open = undefined
      return []
    },
    piece(type: 'text' | 'reasoning', delta: string): UiChunk[] {
      const before = open?.type === type ? [] : close()
      const isNew = open === undefined
      open ??= { type, id: `${type}-${++count}` }
      const { id } = open
      return [...before, ...(isNew ? [{ type: `${type}-start`, id }] : []), { type: `${type}-delta`, id, delta }]
    },
  }
}
