import type { ClosedMessage, MemberCall } from '../../domain/messages/closed-message.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'

/** Finds the results that earlier calls of an import stored. */
export interface StoredResults {
  /**
   * Records a message that an earlier call of the import has stored. These messages must be passed in order, up to the last
   * stored one.
   */
  stored(message: ClosedMessage): void
  /**
   * The id of the row of a call. Undefined if no earlier call of the import stored the row, or if the row at the call's index
   * belongs to another call.
   */
  idOf(call: MemberCall): Promise<string | undefined>
}

/**
 * Finds results by their index among the import's results, because call ids repeat. Even one completion may number the sources
 * of two results with equal call ids. `newest` iterates over the import's stored results, newest first. The iterator is read
 * only until the wanted result is found.
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
