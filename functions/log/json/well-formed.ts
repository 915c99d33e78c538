import type { RequestMessage } from '../../domain/model-request.ts'

/*
 * A lone half of a surrogate pair is not a character. UTF-8 cannot encode it, and strict JSON parsers reject a text that contains
 * its escape. The log keeps such halves unchanged. In every text that leaves the program, U+FFFD replaces them.
 */

/** Matches an escape of JSON: a whole surrogate pair, a lone half (the group), or any other escape. */
const ESCAPE = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|[^])/g
const HALF_ESCAPE = /\\u[dD][89a-fA-F]/

/** Converts a value to JSON without lone halves of surrogate pairs. All JSON for other programs is made by this function. */
export const jsonText = (value: unknown): string => withWholeEscapes(JSON.stringify(value))

/** Replaces lone halves of surrogate pairs in a JSON text, both characters and escapes. The text may be malformed JSON. */
export const wellFormedJson = (raw: string): string => withWholeEscapes(raw.toWellFormed())

/** Replaces the escapes of lone halves. `\\ud83d` is not such an escape, because its backslash is escaped. */
function withWholeEscapes(json: string): string {
  if (!HALF_ESCAPE.test(json)) return json
  return json.replaceAll(ESCAPE, (escape: string, half: string | undefined) =>
    half === undefined ? escape : String.raw`\ufffd`,
  )
}

/**
 * Replaces lone halves of surrogate pairs in the strings and property names of a value. Returns the identical object if there are
 * none.
 */
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

/** Whether the value is a plain object. Other objects, such as bytes and dates, are not changed. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/**
 * Replaces lone halves of surrogate pairs in messages. Providers refuse a request with such a half, so every later run of the
 * session would fail.
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

/**
 * `OPEN_ESCAPE` matches an incomplete escape of a surrogate. `FIRST_HALF` matches the escape of a first half, alone or with an
 * incomplete escape of a second half after it.
 */
const OPEN_ESCAPE = /^\\(?:u(?:[dD](?:[89a-fA-F][\da-fA-F]?)?)?)?$/
const FIRST_HALF = /^\\u[dD][89abAB][\da-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][\da-fA-F]?)?)?)?)?$/
const MAX_OPEN_LENGTH = 12

/**
 * Returns how many characters from the start of a growing text can be emitted. A half of a surrogate pair at the end is held
 * back, because later text may complete it. If the text is JSON, the escape of such a half is held back, too.
 */
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

/** Moves the boundaries between the pieces of a text, so that no piece ends within a character. */
export interface PieceJoiner {
  /**
   * Returns the text that can be emitted now: the text held back so far, and this piece. The end of the piece is held back if the
   * next piece may complete a character.
   */
  take(piece: string): string
  /** Returns the text that is still held back, with U+FFFD instead of an incomplete character. */
  end(): string
}

/**
 * Creates a joiner for one text. `isJson`: the text is the JSON arguments of a call. Such arguments
 * may contain halves of surrogate pairs as \u escapes.
 */
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
