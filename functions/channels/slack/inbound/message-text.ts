import { blocksText, textField } from './blocks-text.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * The text of a message: its `text`, or the text of its blocks if that contains more. Slack repeats the blocks of a
 * person's message in `text`. An app's `text` may only announce the content of its blocks.
 */
export function ownWords(text: string, blocks: unknown): string {
  const shown = blocksText(blocks)
  if (isCovered(shown, text)) return text
  return isCovered(text, shown) ? shown : `${text}\n${shown}`
}

/**
 * The texts of attachments, each marked as not written by the sender: forwarded messages, linked messages, and
 * attachments of apps. Attachments without text are omitted.
 */
export function attachmentTexts(attachments: unknown): string[] {
  return listOf(attachments).flatMap((attachment) => {
    const body = attachmentBody(attachment)
    if (body === '') return []
    const { kind, author } = originOf(attachment)
    return [`[${kind}${author === '' ? '' : ` of ${author}`}:]\n${body}\n[End of the ${kind.toLowerCase()}.]`]
  })
}

/** The files of forwarded messages, in Slack's format. */
export const attachedFiles = (attachments: unknown): unknown[] =>
  listOf(attachments).flatMap(({ files }) => (Array.isArray(files) ? (files as unknown[]) : []))

/** The objects in a list; empty if the value is not a list. */
function listOf(value: unknown): Fields[] {
  if (!Array.isArray(value)) return []
  return (value as unknown[]).filter((one): one is Fields => typeof one === 'object' && one !== null)
}

function originOf(attachment: Fields): { readonly kind: string; readonly author: string } {
  const author = textField(attachment, 'author_name') || textField(attachment, 'author_subname')
  const id = textField(attachment, 'author_id')
  const named = author === '' && id !== '' ? `<@${id}>` : author
  if (attachment['is_share'] === true) return { kind: 'Forwarded message', author: named }
  if (attachment['is_msg_unfurl'] === true) return { kind: 'Linked message', author: named }
  return { kind: 'Attachment', author: named || textField(attachment, 'service_name') }
}

/** The text that Slack shows for an attachment. `fallback` is used if there is no other text. */
function attachmentBody(attachment: Fields): string {
  const [title, link] = [textField(attachment, 'title'), textField(attachment, 'title_link')]
  const written = lines([
    textField(attachment, 'pretext'),
    title !== '' && link !== '' ? `<${link}|${title}>` : title,
    textField(attachment, 'text'),
    ...listOf(attachment['fields']).map((field) => fieldText(field)),
  ])
  const words = ['message_blocks', 'blocks'].reduce((text, name) => ownWords(text, attachment[name]), written)
  const shown = lines([
    words,
    ...attachmentTexts(attachment['attachments']),
    ...fileNames(attachment['files']).map((name) => `[file: ${name}]`),
    textField(attachment, 'image_url'),
  ])
  const footer = textField(attachment, 'footer')
  const fallback = textField(attachment, 'fallback')
  if (shown !== '') return lines([shown, footer])
  return lines([fallback === NO_PREVIEW ? '' : fallback, footer])
}

/** The `fallback` that Slack sets for attachments that came without one. */
const NO_PREVIEW = '[no preview available]'

function fieldText(field: Fields): string {
  const [title, value] = [textField(field, 'title'), textField(field, 'value')]
  return title !== '' && value !== '' ? `${title}: ${value}` : title + value
}

/** The names of files that are in Slack's format. */
export const fileNames = (files: unknown): string[] =>
  listOf(files).map((file) => textField(file, 'name') || textField(file, 'title') || 'unnamed')

const lines = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n')

/** Whether each word of a text occurs in the other text. */
function isCovered(text: string, other: string): boolean {
  const known = new Set(wordsOf(other))
  return wordsOf(text).every((word) => known.has(word))
}

const wordsOf = (text: string): readonly string[] => text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
