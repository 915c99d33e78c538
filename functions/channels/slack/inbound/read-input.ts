import type { IncomingPart } from '../../../agent/service/agent-service.ts'
import type { Session } from '../../../domain/session.ts'
import type { Logger } from '../../../ports/logger.ts'
import type { SlackMessage } from './event.ts'
import type { SlackDownloads } from '../api/file-transfer.ts'
import { readFiles } from './files.ts'
import { unescaped, withoutMention } from '../outbound/text.ts'
import { attachmentTexts, fileNames, ownWords } from './message-text.ts'
import { readThread } from './thread-messages.ts'
import type { ThreadMessage } from './thread-messages.ts'
import type { SlackApi } from '../api/web-api.ts'
import type { Workspace } from '../workspaces.ts'

/** Limit of the thread's text before the first mention, in characters. The newest messages are kept. */
const MAX_CONTEXT_CHARACTERS = 40_000

export interface ReadInputDependencies {
  readonly api: Pick<SlackApi, 'call'>
  readonly downloads: SlackDownloads
  readonly logger: Logger
}

/** Whether the message is the first one of its session, and its thread has earlier messages. */
const hasContext = ({ metadata }: Session, { ts, thread }: SlackMessage): boolean =>
  metadata['slack_first'] === ts && thread !== ts

/** Whether parts of the input must be read from Slack first, which may take long. */
export const mustBeRead = (session: Session, message: SlackMessage): boolean =>
  message.files.length > 0 || hasContext(session, message)

/**
 * Builds the input from a message: the thread's text before the first mention, the message's own text, and the files. A
 * line of text replaces each part that Slack does not return. Rejects when `signal` aborts.
 */
export async function readInput(
  dependencies: ReadInputDependencies,
  workspace: Workspace,
  session: Session,
  message: SlackMessage,
  signal: AbortSignal,
): Promise<readonly IncomingPart[]> {
  const [context, files] = await Promise.all([
    hasContext(session, message) ? messagesBefore(dependencies, workspace, message, signal) : [],
    readFiles(dependencies.downloads, workspace.token, message.files, signal),
  ])
  signal.throwIfAborted()
  return [...context, ...writtenParts(message, workspace), ...files]
}

/** Reads the thread's messages before the first mention of the bot, with their authors. */
async function messagesBefore(
  { api, logger }: ReadInputDependencies,
  { token, bot }: Workspace,
  message: SlackMessage,
  signal: AbortSignal,
): Promise<IncomingPart[]> {
  try {
    const { messages, omitted, isCutOff } = await readThread(api, token, message, { before: message.ts, signal })
    const lines = messages.flatMap((one) => lineOf(one, bot))
    const kept = newest(lines)
    const missing = omitted + lines.length - kept.length
    const shown = [
      ...(missing === 0 ? [] : [`[${missing} earlier messages of this thread are left out.]`]),
      ...kept,
      ...(isCutOff ? ['[The newest messages of this thread are left out: it is too long to be read to its end.]'] : []),
    ]
    return shown.length === 0 ? [] : [{ type: 'text', text: shown.join('\n') }]
  } catch (error) {
    logger.warn('the earlier messages of a thread could not be read', { error: String(error) })
    return [{ type: 'text', text: '[The earlier messages of this thread could not be read.]' }]
  }
}

/**
 * Formats a message of a thread as one line with its author. Empty for our own replies and notices, and for a message
 * without content.
 */
function lineOf(message: ThreadMessage, bot: string): string[] {
  const { user, metadata, streaming_state: stream } = message
  const isReply = metadata?.event_type.startsWith('tooltrail_') === true || stream !== undefined
  if (user === bot && isReply) return []
  const texts = [ownWords(message.text, message.blocks), ...attachmentTexts(message.attachments)]
  const files = fileNames(message.files).map((name) => `[file: ${name}]`)
  const written = unescaped([...texts, ...files].filter((text) => text !== '').join('\n'))
  return written === '' ? [] : [`${authorOf(message)}: ${written}`.replaceAll(/\s*\n\s*/g, ' ')]
}

/** The mention of a user, or the name of a bot that is not a user. */
function authorOf({ user, username, bot_profile: profile, bot_id: bot }: ThreadMessage): string {
  if (user !== undefined) return `<@${user}>`
  return `${username || profile?.name || bot || 'unknown'} (bot)`
}

/** The newest lines that fit. If the last line alone is too long, it is truncated. */
function newest(lines: readonly string[]): readonly string[] {
  let left = MAX_CONTEXT_CHARACTERS
  const from = lines.findLastIndex((line) => (left -= line.length + 1) < 0)
  const last = lines.at(-1)
  if (last !== undefined && from === lines.length - 1)
    return [`${last.slice(0, MAX_CONTEXT_CHARACTERS).toWellFormed()}…`]
  return lines.slice(from + 1)
}

/**
 * The text parts of a message: its text without the mention, and the texts of its attachments. If the message has only
 * a mention, the mention stays, because an input must not be empty.
 */
export function writtenParts({ text, attached, files }: SlackMessage, { bot }: Workspace): IncomingPart[] {
  const parts = [withoutMention(text, bot), unescaped(attached)].filter((part) => part !== '')
  if (parts.length > 0) return parts.map((part) => ({ type: 'text', text: part }))
  return files.length > 0 ? [] : [{ type: 'text', text: text.trim() || '(an empty message)' }]
}
