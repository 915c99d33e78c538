import { sha256 } from '../../../domain/hash.ts'
import type { Json } from '../../../domain/json.ts'
import { readJson, withFoldedNumbers } from '../../../log/json/exact-json.ts'
import { jsonFault } from '../../../log/json/json-size.ts'
import type { ChatMessage } from '../chat/chat-schemas.ts'
import { scopeOf } from './chat-turn.ts'
import type { ChatTurn } from './chat-turn.ts'
import { withoutReasoning } from './reasoning-tags.ts'

/**
 * Returns the name of a conversation, computed from the messages that its client knows. The name is valid for this
 * client only. Texts are folded, because clients trim, normalize and reflow texts, and drop reasoning in tags.
 */
export const historyName = (turn: ChatTurn, messages: readonly ChatMessage[]): string =>
  `folded history ${sha256(JSON.stringify([scopeOf(turn), messages.map((message) => shownOf(message, foldText))]))}`

/** Returns the name that earlier versions gave to the conversation. These versions did not fold texts. */
export const exactHistoryName = (turn: ChatTurn, messages: readonly ChatMessage[]): string =>
  `history ${sha256(JSON.stringify([scopeOf(turn), messages.map((message) => shownOf(message, exactText))]))}`

/** Returns a hash of a turn's client, its `place` and its folded messages, including system messages. */
export function turnHash(
  turn: Pick<ChatTurn, 'caller' | 'agent' | 'user' | 'place' | 'input' | 'instructions'>,
): string {
  const { history, fresh, instructions } = turn.input
  const messages = [...history, ...fresh].map(({ message }) => shownOf(message, foldText))
  const system = [instructions ?? '', turn.instructions ?? ''].map((text) => foldText(text, 'system'))
  return sha256(JSON.stringify([scopeOf(turn), turn.place ?? null, system, messages]))
}

/** Converts a message's text to the form in which it is compared. */
type TextForm = (text: string, role: ChatMessage['role']) => string

const exactText: TextForm = (text) => text

/**
 * Returns the text without white space, in Unicode's composed form and with whole characters only. Reasoning in tags is removed
 * from a model's text.
 */
const foldText: TextForm = (text, role) => {
  const words = text.toWellFormed().normalize('NFC').replaceAll(/\s+/g, '')
  return role === 'assistant' ? withoutReasoning(words) : words
}

/** The fields of a message that clients send back. */
function shownOf(message: ChatMessage, form: TextForm): unknown {
  const content = partsOf(message.content, (text) => form(text, message.role))
  if (message.role === 'tool') return [message.role, message.tool_call_id, content]
  if (message.role !== 'assistant') return [message.role, content]
  const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => [
    id,
    name,
    jsonOf(text),
  ])
  return [message.role, content, calls]
}

/**
 * Returns arguments in a normalized form, because some clients parse them and serialize them again. Equal numbers get
 * the same text, even beyond the precision of JavaScript. Text that is not JSON is returned unchanged.
 */
function jsonOf(text: string): string {
  if (jsonFault(text) !== undefined) return text
  try {
    return JSON.stringify(withFoldedNumbers(readJson(text) as Json))
  } catch {
    return text
  }
}

function partsOf(content: ChatMessage['content'], form: (text: string) => string): readonly unknown[] {
  if (content === null || content === undefined) return [form('')]
  if (typeof content === 'string') return [form(content)]
  const texts = content.flatMap((part) => ('text' in part ? [part.text] : 'refusal' in part ? [part.refusal] : []))
  return [form(texts.join('')), ...content.filter(({ type }) => type !== 'text' && type !== 'refusal')]
}
