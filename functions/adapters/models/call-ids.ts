import { sha256 } from '../../domain/hash.ts'
import type { RequestToolCall } from '../../domain/model-request.ts'
import { PLAIN_IDS } from '../../log/request/wire-names.ts'

const HASH_DIGITS = 16
/** Number of characters of an id that its replacement keeps. */
const MAX_READABLE_CHARACTERS = PLAIN_IDS.maxLength - HASH_DIGITS - '_x'.length

type SentCall = Pick<RequestToolCall, 'id' | 'repeatedIn'>

interface CallIds {
  /** Returns the ids to send for a batch of calls. */
  begin(calls: readonly SentCall[]): string[]
  /** Returns the id to send for the next result of the batch, and its index in the batch. */
  next(id: string): { id: string; index: number }
}

/**
 * Creates the call ids of one request. `unique`: the provider rejects repeated ids, but a log may have the same id in
 * different rounds. A call with the id of an earlier call is sent with another id. This id ends with a hash of the
 * call's message and of its index in the batch, so it is the same in every later request.
 */
export function createCallIds(unique: boolean): CallIds {
  const used = new Set<string>()
  let batch: string[] = []
  let results = 0

  function uniqueId({ id, repeatedIn }: SentCall, index: number): string {
    let sent = repeatedIn === undefined ? id : withHash(id, `${repeatedIn}:${index}`)
    for (let count = 2; used.has(sent); count++) sent = withHash(id, String(count))
    used.add(sent)
    return sent
  }

  return {
    begin(calls) {
      batch = unique ? calls.map(uniqueId) : calls.map(({ id }) => id)
      results = 0
      return batch
    },
    next(id) {
      const index = results++
      return { id: batch[index] ?? id, index }
    },
  }
}

const withHash = (id: string, key: string): string =>
  `${id.slice(0, MAX_READABLE_CHARACTERS)}_x${sha256(`${id}:${key}`).slice(0, HASH_DIGITS)}`
