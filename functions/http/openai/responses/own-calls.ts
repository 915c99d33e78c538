import type { AssistantMessage, ToolMessage } from '../../../domain/messages/message.ts'
import type { WaitingCall } from '../../v1/runs/resource.ts'

/**
 * Collects the calls of a round that are executed here, and puts them into the order in which the model made them. Each
 * call is returned once, after it has ended.
 */
export interface OwnCalls {
  /** Starts the next round. */
  begin(message: AssistantMessage): void
  /**
   * Records the end of a call. Returns this call and the later calls that waited for it. Returns no call while an earlier call
   * is running.
   */
  end(call: ToolMessage): WaitingCall[]
  /** Returns the ended calls that are still held back, because earlier calls are running. */
  rest(): WaitingCall[]
}

export function createOwnCalls(): OwnCalls {
  let message: AssistantMessage | undefined
  const ended = new Map<number, ToolMessage>()
  const emitted = new Set<number>()
  const emit = (sequences: readonly number[]): WaitingCall[] =>
    sequences.flatMap((sequence): WaitingCall[] => {
      const call = ended.get(sequence)
      if (call === undefined || emitted.has(sequence)) return []
      emitted.add(sequence)
      // The client already has the calls that it executed itself.
      if (call.needs === 'result') return []
      return [{ message: call, arguments: message?.toolCalls[sequence]?.arguments ?? '' }]
    })
  return {
    begin(next) {
      message = next
      ended.clear()
      emitted.clear()
    },
    end(call) {
      ended.set(call.sequence, call)
      const count = message?.toolCalls.length ?? 0
      const open = Array.from({ length: count }, (_, sequence) => sequence).find((sequence) => !ended.has(sequence))
      return emit(
        [...ended.keys()].filter((sequence) => open === undefined || sequence < open).toSorted((a, b) => a - b),
      )
    },
    rest: () => emit([...ended.keys()].toSorted((a, b) => a - b)),
  }
}
