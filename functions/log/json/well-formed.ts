import type { RequestMessage } from '../../domain/model-request.ts'

/*
 * Half of a surrogate pair is no character: UTF-8 cannot encode it, and strict readers of JSON refuse the whole text for its escape.
 * The log keeps halves as they came. Every text that leaves the program has U+FFFD in their place.
 */

/** An escape of JSON: a whole pair, one half (the group), or any other. */
const ESCAPE = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|[^])/g
const HALF_ESCAPE = /\\u[dD][89a-fA-F]/

/** JSON as `JSON.stringify` writes it, without half of a surrogate pair: the one way in which values become JSON that others read. */
export const jsonText = (value: unknown): string => withWholeEscapes(JSON.stringify(value))

/** A text of JSON, malformed too, without half of a surrogate pair, whether written out or as an escape. */
export const wellFormedJson = (raw: string): string => withWholeEscapes(raw.toWellFormed())

/** `\\ud83d` is no escape of a half: its backslash is escaped. */
function withWholeEscapes(json: string): string {
  if (!HALF_ESCAPE.test(json)) return json
  return json.replaceAll(ESCAPE, (escape: string, half: string | undefined) =>
    half === undefined ? escape : String.raw`\ufffd`,
  )
}

/** The value with U+FFFD for every half of a surrogate pair in its strings and names; the same object where there is none. */
export function wellFormed<Value>(value: Value): Value {
  return wellFormedValue(value) as Value
}

function wellFormedValue(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) {
    const items = value.map(wellFormedValue)
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (!isPlain(value)) return value
  const entries = Object.entries(value)
  const mended = entries.map(([name, field]) => [name.toWellFormed(), wellFormedValue(field)] as const)
  const isSame = mended.every(([name, field], index) => name === entries[index]?.[0] && field === entries[index][1])
  return isSame ? value : Object.fromEntries(mended)
}

/** Whether it is an object of JSON: bytes and dates stay what they are. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/**
 * The messages without half of a surrogate pair: providers refuse a request that has one, and so would every later run of the
 * session fail.
 */
export const wellFormedMessages = (messages: readonly RequestMessage[]): readonly RequestMessage[] =>
  wellFormed(messages.map(withWholeArguments))

function withWholeArguments(message: RequestMessage): RequestMessage {
  if (message.role !== 'assistant') return message
  const parts = message.parts.map((part) => {
    if (part.type !== 'tool_call') return part
    const text = wellFormedJson(part.arguments)
    return text === part.arguments ? part : { ...part, arguments: text }
  })
  return parts.some((part, index) => part !== message.parts[index]) ? { ...message, parts } : message
}

/** Parts of an escape that more text may complete to a surrogate, and an escape of a first half that its second half may follow. */
const OPEN_ESCAPE = /^\\(?:u(?:[dD](?:[89a-fA-F][\da-fA-F]?)?)?)?$/
const FIRST_HALF = /^\\u[dD][89abAB][\da-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][\da-fA-F]?)?)?)?)?$/
const MAX_OPEN_LENGTH = 12

/** How much of a text that grows can be shown: up to a half, or in arguments the escape of a half, that may become whole. */
function sureLength(text: string, isJson: boolean): number {
  const last = text.charCodeAt(text.length - 1)
  const length = last >= 0xd8_00 && last < 0xdc_00 ? text.length - 1 : text.length
  if (!isJson) return length
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', at + 2)) {
    if (text.length - at > MAX_OPEN_LENGTH) continue
    const rest = text.slice(at)
    if (OPEN_ESCAPE.test(rest) || FIRST_HALF.test(rest)) return at
  }
  return length
}

/** Joins pieces of one text such that none has half of a character. */
export interface PieceJoiner {
  /** The text that can be shown now: with what was held back, and without what the next piece may complete. */
  take(piece: string): string
  /** The text that is still held back, which stays incomplete. */
  end(): string
}

/** `isJson`: the text is arguments of a call, where a half may be written as an escape. */
export function createPieceJoiner({ isJson }: { readonly isJson: boolean }): PieceJoiner {
  const mend = isJson ? wellFormedJson : (text: string): string => text.toWellFormed()
  let held = ''
  return {
    take(piece) {
      const text = held + piece
      const length = sureLength(text, isJson)
      held = text.slice(length)
      return mend(text.slice(0, length))
    },
    end() {
      const text = mend(held)
      held = ''
      return text
    },
  }
}
