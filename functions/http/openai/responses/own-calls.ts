import type { AssistantMessage, ToolMessage } from '../../../domain/messages/message.ts'
import type { WaitingCall } from '../../v1/runs/resource.ts'

/** The calls of a round that are executed here, each told once when it has ended, in the order in which the model made them. */
export interface OwnCalls {
  /** The next round's. */
  begin(message: AssistantMessage): void
  /** One has ended. Returns it with those that waited for it. */
  end(call: ToolMessage): WaitingCall[]
  /** All that have ended and were not told, although others before them go on. */
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
      // The client knows what it has executed itself.
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
