import type { ErrorPart, Message, Part, ToolCallPart, ToolMessage } from '../../domain/messages/message.ts'
import type { RequestMessage, ToolDeclaration } from '../../domain/model-request.ts'
import type { JsonFormat } from '../../domain/runs/request-settings.ts'
import { formatInstructions } from './format-text.ts'

/*
 * Weights estimate the number of tokens as long as nothing is known about the model. The figures are a least-squares
 * fit to o200k_base over recorded conversations and eleven writing systems. The estimate is within 4 % for half of the
 * conversations, and within 12 % for nine of ten (`npm run bench tokens`). How a provider actually counts is learned
 * from the usage that it reports (`request-size.ts`).
 */

/** Number of letters of a word that together count as one token. */
const LETTERS_OF_TOKEN = 8
const WORD = 1
const DIGIT = 0.7
const BREAK = 0.4
const PUNCTUATION = 0.55
const OTHER_LATIN = 0.75
/** Cyrillic, Greek, Arabic, Devanagari, Thai … */
const OTHER_ALPHABET = 0.36
/** Han, kana, hangul and full-width forms. */
const EAST_ASIAN = 0.7
/** Weight of each half of an emoji, and of each sign. */
const OTHER = 1

const MESSAGE = 4
const CALL = 8
/** Weight of an image of usual size, or of a few pages of a document. */
const MEDIA = 1_500
/** Weight of the note that replaces media. */
const GONE = 40

/** Returns the estimated tokens of a text, depending on its writing systems. */
export function weighText(text: string): number {
  let weight = 0
  let letters = 0
  let before = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isLetter(code)) {
      // A capital letter after a lower-case letter begins a word.
      if (letters % LETTERS_OF_TOKEN === 0 || (code < 97 && before >= 97)) {
        weight += WORD
        letters = 0
      }
      letters++
    } else {
      letters = 0
      weight += weightOf(code)
    }
    before = code
  }
  return weight
}

const isLetter = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 65 && code <= 90)

function weightOf(code: number): number {
  if (code === 32) return 0
  if (code < 32) return BREAK
  if (code >= 48 && code <= 57) return DIGIT
  if (code < 128) return PUNCTUATION
  if (code < 0x2_50) return OTHER_LATIN
  if (code < 0x11_00) return OTHER_ALPHABET
  if ((code >= 0x2e_80 && code < 0xd8_00) || (code >= 0xf9_00 && code < 0xff_f0)) return EAST_ASIAN
  return OTHER
}

/** Every request shares the part objects of the log, so each part is weighed only once. */
const weighed = new WeakMap<object, number>()

/** Returns the estimated tokens of a request's messages. */
export function weighMessages(messages: readonly RequestMessage[]): number {
  return messages.reduce((sum, message) => message.parts.reduce((all, part) => all + weighPart(part), sum + MESSAGE), 0)
}

type RequestPart = RequestMessage['parts'][number] | Exclude<Part, ToolCallPart | ErrorPart>

function weighPart(part: RequestPart): number {
  const known = weighed.get(part)
  if (known !== undefined) return known
  const weight = weightOfPart(part)
  weighed.set(part, weight)
  return weight
}

function weightOfPart(part: RequestPart): number {
  if ('text' in part) return weighText(part.text)
  return 'arguments' in part ? CALL + weighText(part.name) + weighText(part.arguments) : MEDIA
}

/** Returns the maximum tokens of a log message in a request, with or without its media. */
export function weighStored(message: Message, withMedia: boolean): number {
  const parts: readonly Part[] = message.parts
  const own = parts.reduce((sum, part) => sum + weighStoredPart(part, withMedia), MESSAGE)
  if (message.role === 'tool') return own + weighSources(message)
  if (message.role !== 'assistant') return own
  return message.toolCalls.reduce((sum, call) => sum + CALL + weighText(call.name) + weighText(call.arguments), own)
}

/** Weight of the number in a source's line. */
const SOURCE = 6

const weighSources = ({ sources = [] }: ToolMessage): number =>
  sources.reduce((sum, { title, url = '', text = '' }) => sum + SOURCE + weighText(`${title}${url}${text}`), 0)

function weighStoredPart(part: Part, withMedia: boolean): number {
  if (!withMedia && (part.type === 'image' || part.type === 'file')) return GONE
  if (part.type === 'tool_call' || part.type === 'error') return 0
  return weighPart(part)
}

/** Returns the estimated tokens of the format of a request. */
export const weighFormat = (format: JsonFormat | undefined): number =>
  format === undefined ? 0 : weighText(formatInstructions(format))

/** Returns the estimated tokens of a request's instructions and tools. */
export function weighDeclarations(instructions: string | undefined, tools: readonly ToolDeclaration[]): number {
  const own = instructions === undefined ? 0 : MESSAGE + weighText(instructions)
  return tools.reduce((sum, tool) => sum + CALL + weighText(JSON.stringify(tool)), own)
}
