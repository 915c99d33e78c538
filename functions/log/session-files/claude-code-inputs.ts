import type { JsonObject } from '../../domain/json.ts'
import { isRecord, isText, textIn } from './transcript.ts'
import type { Parser } from './transcript.ts'

type Fields = { readonly [name: string]: unknown }

/** Matches the beginning of a text that the program itself wrote as a message of the user. */
const PROGRAM_TEXT =
  /^\s*(?:<(?:command-(?:name|message|args)|local-command-[a-z]+|task-notification|bash-std(?:out|err)|system-reminder)>|Caveat: The messages below|\[Request interrupted by user)/u
/** Parser 1 uses this pattern instead of `PROGRAM_TEXT`. */
const PROGRAM_TEXT_BEFORE =
  /^\s*(?:<command-(?:name|message|args)>|<local-command-std(?:out|err)>|Caveat: The messages below)/u
const COMMAND = /<command-name>([^<]{1,200})<\/command-name>/u
const ARGUMENTS = '<command-args>'
const [REMINDER, REMINDER_END] = ['<system-reminder>', '</system-reminder>']

/** Whether the program itself wrote this record, as a message of the user or the model. */
export const isProgramRecord = (record: Fields, message: Fields): boolean =>
  record['isMeta'] === true ||
  record['isCompactSummary'] === true ||
  record['isApiErrorMessage'] === true ||
  message['model'] === '<synthetic>'

/** Origins of texts that other agents or the program wrote. The notice of a task is recognised by its text. */
const OTHER_ORIGINS = new Set(['peer', 'coordinator', 'auto-continuation'])

/** Whether another agent or the program wrote the text of a user record or a queued input. A record's results still belong to the log. */
export const isOfOthers = ({ origin }: Fields, parser: Parser): boolean =>
  parser > 1 && isRecord(origin) && OTHER_ORIGINS.has(kindOf(origin) ?? '')

const kindOf = (origin: Fields): string | undefined => textIn(origin, 'kind')

/** Returns the content of a user record that the person typed or attached. */
export function typedParts(blocks: readonly Fields[], parser: Parser): JsonObject[] {
  const parts = blocks.filter(({ type }) => type !== 'tool_result').flatMap((block) => contentOf(block, parser))
  if (parser === 1) return parts.filter((part) => !isText(part, PROGRAM_TEXT_BEFORE))
  return parts.flatMap((part) => {
    if (part['type'] !== 'text' || typeof part['text'] !== 'string') return [part]
    const text = withoutReminders(part['text'])
    const typed = commandOf(text) ?? (PROGRAM_TEXT.test(text) ? '' : text)
    return typed.trim() === '' ? [] : [{ ...part, text: typed }]
  })
}

/**
 * Returns the parts of an input that was typed while the model worked. They are in the record's `queued_command` attachment.
 * Returns an empty list for other records and for the program's notices. `seen`: uuids of earlier records. A copy of an earlier
 * attachment is skipped.
 */
export function queuedInput(record: Fields, seen: Set<string>): JsonObject[] {
  const { attachment } = record
  if (record['type'] !== 'attachment' || !isRecord(attachment) || attachment['type'] !== 'queued_command') return []
  const [mode, uuid, source] = [attachment['commandMode'], textIn(record, 'uuid'), textIn(attachment, 'source_uuid')]
  if (attachment['isMeta'] === true || record['isSidechain'] === true || isOfOthers(attachment, 2)) return []
  if (mode !== undefined && mode !== 'prompt') return []
  if (lacksContent(record)) return []
  if ([uuid, source].some((one) => one !== undefined && seen.has(one))) return []
  for (const one of [uuid, source]) if (one !== undefined) seen.add(one)
  return typedParts(blocksOf(attachment['prompt']), 2)
}

/** Whether a record of a message or of a queued input has no content that can be read. */
export function lacksContent({ type, message, attachment }: Fields): boolean {
  if (type === 'user' || type === 'assistant') return !isRecord(message) || !isContent(message['content'])
  return isRecord(attachment) && attachment['type'] === 'queued_command' && !isContent(attachment['prompt'])
}

const isContent = (content: unknown): boolean => typeof content === 'string' || Array.isArray(content)

/** Returns the blocks of a message's content. A plain text becomes one block. */
export function blocksOf(content: unknown): readonly Fields[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.filter(isRecord) : []
}

/**
 * Returns a command with its arguments, as the person typed it: `/review the parser`. Returns an empty text for a command without
 * arguments.
 */
function commandOf(text: string): string | undefined {
  const name = text.trimStart().startsWith('<command-') ? COMMAND.exec(text)?.[1]?.trim() : undefined
  if (name === undefined) return undefined
  const from = text.indexOf(ARGUMENTS)
  const end = text.indexOf('</command-args>', from)
  const typed = from === -1 || end === -1 ? '' : text.slice(from + ARGUMENTS.length, end).trim()
  return typed === '' ? '' : `${name} ${typed}`
}

/** Removes the reminders that the program added before or after the text. */
function withoutReminders(text: string): string {
  let rest = text
  for (let trimmed = rest.trimStart(); trimmed.startsWith(REMINDER); trimmed = rest.trimStart()) {
    const end = trimmed.indexOf(REMINDER_END)
    if (end === -1) break
    rest = trimmed.slice(end + REMINDER_END.length)
  }
  for (let trimmed = rest.trimEnd(); trimmed.endsWith(REMINDER_END); trimmed = rest.trimEnd()) {
    const start = trimmed.lastIndexOf(REMINDER)
    if (start === -1) break
    rest = trimmed.slice(0, start)
  }
  return rest === text ? text : rest.trim()
}

/**
 * Converts a block of text, an image or a document to the form of an import. An image or document given by address is
 * kept as that address.
 */
export function contentOf(block: Fields, parser: Parser): JsonObject[] {
  const text = textIn(block, 'text')
  if (block['type'] === 'text') return text === undefined ? [] : [{ type: 'text', text }]
  const source = block['source']
  if (!isRecord(source) || (block['type'] !== 'image' && block['type'] !== 'document')) return []
  const url = parser > 1 && source['type'] === 'url' ? textIn(source, 'url') : undefined
  if (url !== undefined) return [{ type: 'text', text: url }]
  const type = textIn(source, 'media_type') ?? 'application/octet-stream'
  const encoding = parser > 1 && source['type'] === 'text' ? 'utf8' : 'base64'
  const data = Buffer.from(textIn(source, 'data') ?? '', encoding).toString('base64')
  return data === '' ? [] : [{ type: block['type'] === 'image' ? 'image' : 'file', media_type: type, data }]
}
