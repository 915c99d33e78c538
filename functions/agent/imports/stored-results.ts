import type { ClosedMessage, MemberCall } from '../../domain/messages/closed-message.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'

/** Where results are that earlier calls of an import stored. */
export interface StoredResults {
  /** An earlier call has stored this message. The last of them is the last that is stored. */
  stored(message: ClosedMessage): void
  /** The id of the message of a call; undefined where it is none of these, or another stands in its place. */
  idOf(call: MemberCall): Promise<string | undefined>
}

/**
 * They are found by their place: ids of calls repeat, also among the results whose sources one completion numbers. `newest`: all
 * results of the import that are in the log, the newest first; they are read as far back as one is asked for.
 */
export function createStoredResults(newest: AsyncIterator<ToolMessage, undefined>): StoredResults {
  const places = new WeakMap<MemberCall, number>()
  let count = 0
  const read: { readonly id: string; isOf(call: MemberCall): boolean }[] = []
  return {
    stored(message) {
      if (message.role !== 'tool') return
      count++
      if (message.named !== undefined) places.set(message.named, count)
    },
    async idOf(call) {
      const place = places.get(call)
      if (place === undefined) return undefined
      while (read.length <= count - place) {
        const next = await newest.next()
        if (next.done === true) return undefined
        const { id, toolCallId, parentToolCallId, sources = [] } = next.value
        const { length } = sources
        read.push({
          id,
          isOf: (one) =>
            one.toolCallId === toolCallId && one.parentToolCallId === parentToolCallId && (one.sources ?? 0) === length,
        })
      }
      const found = read[count - place]
      return found?.isOf(call) === true ? found.id : undefined
    },
  }
}
