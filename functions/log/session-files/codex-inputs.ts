import type { JsonObject } from '../../domain/json.ts'
import { isRecord, isText, textIn } from './transcript.ts'
import type { FileLine, Parser } from './transcript.ts'

/** Marks an item that the program wrote. */
const OF_PROGRAM = Symbol('of the program')
type Input = string | typeof OF_PROGRAM
type Fields = { readonly [name: string]: unknown }

/**
 * Matches texts that the program itself wrote as messages of the user. Most of them begin with a tag whose name has an
 * underscore. The pattern lists the other beginnings.
 */
const PROGRAM_TEXT =
  /^\s*(?:<(?:permissions|skills?|hook|instructions|INSTRUCTIONS|[a-z]+(?:_[a-z]+)+)\b[^>]*>|# AGENTS\.md instructions for )/u
/** Parser 1 uses this pattern instead of `PROGRAM_TEXT`. */
const PROGRAM_TEXT_BEFORE =
  /^\s*<(?:environment_context|user_instructions|permissions|skills_instructions|turn_aborted)\b/u

/**
 * Distinguishes inputs that a person typed from texts of the program. Some files also have events with the typed texts.
 * If such events are between two answers of the model, only the items with these texts were typed. Otherwise, an item
 * was typed unless it begins like a text of the program.
 */
export function typedInputs(lines: readonly FileLine[], parser: Parser) {
  const listed = new Map<number, Input>(parser === 1 ? [] : turnsOf(lines).flatMap((turn) => inputsOf(turn)))
  return {
    /** Returns the parts of a user item that the person typed or attached. */
    typed(line: number, parts: readonly JsonObject[]): readonly JsonObject[] {
      if (parser === 1) return parts.filter((part) => !isText(part, PROGRAM_TEXT_BEFORE))
      const input = listed.get(line)
      if (input === OF_PROGRAM) return []
      return parts.filter((part) => part['text'] === input || !isText(part, PROGRAM_TEXT))
    },
  }
}

/**
 * The records between two answers of the model: the user items, each with its line and texts, and the typed texts from
 * events.
 */
interface Turn {
  readonly items: { readonly line: number; readonly texts: readonly string[] }[]
  readonly typed: string[]
}

function turnsOf(lines: readonly FileLine[]): Turn[] {
  let turn: Turn = { items: [], typed: [] }
  const turns = [turn]
  for (const { line, value } of lines) {
    if (!isRecord(value) || !isRecord(value['payload'])) continue
    const { type, payload } = value
    if (type === 'response_item' && isOfModel(payload)) turns.push((turn = { items: [], typed: [] }))
    if (type === 'response_item' && payload['role'] === 'user') turn.items.push({ line, texts: textsIn(payload) })
    const text = type === 'event_msg' ? typedText(payload) : undefined
    if (text !== undefined) turn.typed.push(text.trim())
  }
  return turns
}

/**
 * Assigns each user item its typed text, or marks it as a text of the program. Returns nothing for a turn without typed texts in
 * events.
 */
function inputsOf({ items, typed }: Turn): [line: number, input: Input][] {
  if (typed.length === 0) return []
  const inputs = new Map<number, Input>(items.map(({ line }) => [line, OF_PROGRAM]))
  let left = items
  for (const text of typed) {
    const isProgram = (texts: readonly string[]): boolean => texts.some((one) => PROGRAM_TEXT.test(one))
    const own =
      left.find(({ texts }) => texts.some((one) => one.trim() === text) || (text === '' && texts.length === 0)) ??
      left.find(({ texts }) => !isProgram(texts) && texts.join('\n').includes(text))
    if (own === undefined) continue
    inputs.set(own.line, own.texts.find((one) => one.trim() === text) ?? text)
    left = left.filter((one) => one !== own)
  }
  return [...inputs]
}

const textsIn = ({ content }: Fields): string[] =>
  typeof content === 'string' ? [content] : blocksIn(content).flatMap((block) => textIn(block, 'text') ?? [])

const blocksIn = (content: unknown): Fields[] => (Array.isArray(content) ? content.filter(isRecord) : [])

const isOfModel = ({ type, role }: Fields): boolean =>
  type === 'reasoning' || role === 'assistant' || (typeof type === 'string' && type.endsWith('_call'))

/** Returns the typed text of a `user_message` event, or of `item_completed` with a `UserMessage`. */
function typedText(event: Fields): string | undefined {
  if (event['type'] === 'user_message') return typeof event['message'] === 'string' ? event['message'] : undefined
  const item = event['type'] === 'item_completed' ? event['item'] : undefined
  return isRecord(item) && item['type'] === 'UserMessage' ? textsIn(item).join('\n') : undefined
}
