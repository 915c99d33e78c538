import { definedFields } from '../../functions/domain/defined-fields.ts'
/** An error code that Slack returns. */
export class Refused extends Error {}

export type Args = Readonly<Record<string, unknown>>

export interface StoredMessage {
  readonly channel: string
  readonly ts: string
  readonly thread_ts?: string
  readonly user?: string
  readonly bot_id?: string
  text: string
  blocks?: unknown
  metadata?: unknown
  streaming_state?: 'in_progress' | 'completed'
  /** Whether the stream uses `chunks` or `markdown_text`. A stream must not use both. */
  mode?: 'chunks' | 'text'
  stoppedByUser?: boolean
  tasks?: unknown[]
  file?: { readonly id: string; readonly title: string; readonly content: string }
}

const MAX_MESSAGE_CHARACTERS = 12_000

export const textArg = (args: Args, name: string): string => {
  const value = args[name]
  if (typeof value !== 'string' || value === '') throw new Refused('invalid_arguments')
  return value
}

export const has = (args: Args, name: string): boolean => args[name] !== undefined

/** Adds a list of chunks or a text to a stream. Throws `Refused` like Slack. */
export function addToStream(message: StoredMessage, args: Args): void {
  if (has(args, 'chunks') && has(args, 'markdown_text')) throw new Refused('streaming_mode_mismatch')
  const mode = has(args, 'chunks') ? 'chunks' : has(args, 'markdown_text') ? 'text' : undefined
  if (mode === undefined) return
  if (message.mode !== undefined && message.mode !== mode) throw new Refused('streaming_mode_mismatch')
  const chunks =
    mode === 'chunks'
      ? (args['chunks'] as readonly Record<string, unknown>[])
      : [{ type: 'markdown_text', text: args['markdown_text'] }]
  const text = chunks.flatMap((chunk) => (chunk['type'] === 'markdown_text' ? [chunk['text'] as string] : [])).join('')
  if (message.text.length + text.length > MAX_MESSAGE_CHARACTERS) throw new Refused('msg_too_long')
  message.mode = mode
  message.text += text
  message.tasks = [...(message.tasks ?? []), ...chunks.filter((chunk) => chunk['type'] !== 'markdown_text')]
}

/** The visible text of a message with Markdown blocks. */
function markdownOf(blocks: unknown): string {
  const list = (blocks ?? []) as readonly { readonly type?: unknown; readonly text?: unknown }[]
  return list.flatMap(({ type, text }) => (type === 'markdown' && typeof text === 'string' ? [text] : [])).join('\n')
}

/** Returns the contents of a complete message. Throws `Refused` like Slack. */
export function contentOf(args: Args, mostText: number): { text: string; blocks?: unknown } {
  const { text, blocks, markdown_text: markdown } = args
  if (markdown !== undefined) {
    if (text !== undefined || blocks !== undefined) throw new Refused('markdown_text_conflict')
    if (typeof markdown !== 'string' || markdown === '') throw new Refused('no_text')
    if (markdown.length > MAX_MESSAGE_CHARACTERS) throw new Refused('msg_too_long')
    return { text: markdown }
  }
  if ((typeof text !== 'string' || text === '') && blocks === undefined) throw new Refused('no_text')
  if (typeof text === 'string' && text.length > mostText) throw new Refused('msg_too_long')
  const shown = markdownOf(blocks)
  if (shown.length > MAX_MESSAGE_CHARACTERS) throw new Refused('msg_too_long')
  const said = typeof text === 'string' ? text : ''
  return { text: shown === '' ? said : shown, ...definedFields({ blocks }) }
}
