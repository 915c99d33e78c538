import { isLeaders, textOf } from '../../../functions/domain/messages/message.ts'
import type { Message } from '../../../functions/domain/messages/message.ts'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import { must } from '../harness.ts'
import { namesIn, saidIn } from './said.ts'
import type { Sessions, Watch } from './sessions.ts'

/** Returns the inputs of the session, in the order of the log. */
const inputsOf = (messages: readonly Message[]): { readonly id: string; readonly name: string }[] =>
  messages.flatMap((message) =>
    message.role === 'user' && isLeaders(message)
      ? namesIn(textOf(message.parts)).map((name) => ({ id: message.id, name }))
      : [],
  )

/**
 * Checks that a leader's request has all inputs in order and exactly once, from the log's first input to the newest one
 * in the request. The summary in the request may name older inputs.
 */
export function checkConversation({ all }: Sessions, request: ModelRequest): void {
  const said = saidIn(request).flatMap(namesIn)
  for (const watch of all) {
    const { seen } = watch
    const stored = inputsOf(seen.messages).map(({ name }) => name)
    const place = stored.indexOf(said.at(-1) ?? '')
    if (place === -1) continue
    const expected = stored.slice(0, place + 1).join(' ')
    must(
      'a request says what was said, once and in order',
      said.join(' ') === expected,
      `${said.join(' ')}, not ${expected}`,
    )
    checkPrefix(watch, request)
  }
}

/**
 * Checks that each request repeats the previous one, unless a new summary was stored (promises R5). The results of the
 * last round may differ, because a sender may have died before it stored these results.
 */
function checkPrefix(watch: Watch, { messages }: ModelRequest): void {
  const through = watch.seen.session?.summary?.through
  const end = messages.findLastIndex(({ role }) => role !== 'tool') + 1
  const sent = messages.slice(0, end).map((message) => JSON.stringify(message))
  const before = watch.sent.through === through ? watch.sent.messages : []
  const differs = before.findIndex((message, place) => place < sent.length && message !== sent[place])
  must('what was sent is sent again', differs === -1, `${watch.key.session}: ${before[differs]}, now ${sent[differs]}`)
  watch.sent = { through, messages: sent.length > before.length ? sent : before }
}

/** Checks that a stored summary contains, once and in order, each input that it covers. */
export function checkSummary({ seen: { session, messages }, key }: Watch): void {
  const summary = session?.summary
  if (summary === undefined) return
  const upTo = inputsOf(messages).filter(({ id }) => id <= summary.through)
  const [said, expected] = [namesIn(summary.text).join(' '), upTo.map(({ name }) => name).join(' ')]
  must('a summary says what was said, once and in order', said === expected, `${key.session}: ${said}, not ${expected}`)
}
