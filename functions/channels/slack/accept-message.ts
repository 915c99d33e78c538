import { createHash } from 'node:crypto'
import type { Accepted, AgentService, IncomingPart } from '../../agent/intake/agent-service.ts'
import type { Agent } from '../../domain/agent.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { Session } from '../../domain/session.ts'
import type { Logger } from '../../ports/logger.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import type { SlackMessage } from './event.ts'
import type { SlackDownloads } from './file-transfer.ts'
import { readFiles } from './files.ts'
import type { SlackSettings } from './settings.ts'
import { mentions, unescaped, withoutMention } from './text.ts'
import { ownerOf, sessionOf, userOf } from './thread.ts'
import { threadMessages } from './thread-messages.ts'
import type { SlackApi } from './web-api.ts'
import type { Workspace } from './workspaces.ts'

/** The kind of deliveries that are replies. */
const REPLY_KIND = 'slack'
/** Characters of the messages before the first mention; the newest are kept. */
const MOST_CONTEXT = 40_000

export interface AcceptMessageDependencies {
  readonly api: Pick<SlackApi, 'call'>
  readonly downloads: SlackDownloads
  readonly settings: SlackSettings
  readonly service: Pick<AgentService, 'submit'>
  readonly sessions: Pick<SessionStore, 'create' | 'read'>
  readonly agents: ReadonlyMap<string, Agent>
  readonly logger: Logger
  /** Whether this process executes the run. */
  readonly here: boolean
}

/** Whether a message is for the bot: a direct one, one with a mention, or one in a thread that it knows. */
export async function isForBot(
  { settings, sessions }: Pick<AcceptMessageDependencies, 'settings' | 'sessions'>,
  { tenant, bot }: Workspace,
  message: SlackMessage,
): Promise<boolean> {
  if (message.user === bot) return false
  if (message.isDirect || message.isMention || mentions(message.text, bot)) return true
  if (!settings.followUps || message.thread === message.ts) return false
  return (await sessions.read(sessionOf(tenant, message))) !== undefined
}

/**
 * Accepts a message as an input of its thread's session, durably and once, however often Slack delivers it: its own name is the
 * idempotency key. Undefined if the session was deleted.
 */
export async function acceptMessage(
  dependencies: AcceptMessageDependencies,
  workspace: Workspace,
  message: SlackMessage,
): Promise<Accepted | undefined> {
  const session = await enterThread(dependencies, workspace, message)
  if (session === undefined) return undefined
  const { downloads, service, here } = dependencies
  const { team, channel, thread, ts, user } = message
  const isFirst = session.metadata['slack_first'] === ts
  const [context, files] = await Promise.all([
    isFirst && thread !== ts ? messagesBefore(dependencies, workspace, message) : [],
    readFiles(downloads, workspace.token, message.files),
  ])
  const parts: readonly IncomingPart[] = [...context, ...textOf(message, workspace), ...files]
  const name = hash(`slack ${team} ${channel} ${ts}`)
  const submission = {
    parts,
    user: userOf(message, user),
    metadata: { slack_ts: ts, slack_user: user },
    clientTools: [],
    onBusy: 'queue',
    delivery: { kind: REPLY_KIND, target: { team, channel, thread, ts, user } },
    // The first body counts: a mention is delivered twice, and not in the same words.
    idempotency: { keyHash: name, bodyHash: name },
  } as const
  return service.submit(session, submission, { here })
}

/** The thread's session, created if there is none. It knows the message with which it began: that one brings the earlier ones along. */
async function enterThread(
  { settings, sessions, agents, logger }: AcceptMessageDependencies,
  workspace: Workspace,
  message: SlackMessage,
): Promise<Session | undefined> {
  const key = sessionOf(workspace.tenant, message)
  const found = await sessions.read(key)
  if (found !== undefined) return found
  const { [message.channel]: own } = settings.channels
  const agent = own?.agent ?? workspace.agent
  try {
    return await sessions.create({
      ...key,
      agent,
      owner: ownerOf(message),
      metadata: { slack_first: message.ts },
      ...definedFields({ ttlDays: agents.get(agent)?.policies.ttlDays ?? undefined }),
    })
  } catch (error) {
    if (!(error instanceof TooltrailError) || error.code !== 'session_exists') throw error
    const other = await sessions.read(key)
    if (other === undefined) logger.warn('a message for a deleted session was ignored', { ...key })
    return other
  }
}

/** What was written in the thread before the bot was first mentioned, with its authors. */
async function messagesBefore(
  { api, logger }: AcceptMessageDependencies,
  { token, bot }: Workspace,
  message: SlackMessage,
): Promise<IncomingPart[]> {
  try {
    const earlier = await threadMessages(api, token, message, { before: message.ts })
    const lines = earlier
      .filter(({ user, text }) => user !== undefined && user !== bot && text !== '')
      .map(({ user, text }) => `<@${user}>: ${unescaped(text).replaceAll(/\s*\n\s*/g, ' ')}`)
    return lines.length === 0 ? [] : [{ type: 'text', text: newest(lines).join('\n') }]
  } catch (error) {
    logger.warn('the earlier messages of a thread could not be read', { error: String(error) })
    return [{ type: 'text', text: '[The earlier messages of this thread could not be read.]' }]
  }
}

/** As many of the last lines as there is room for. */
function newest(lines: readonly string[]): readonly string[] {
  let left = MOST_CONTEXT
  const from = lines.findLastIndex((line) => (left -= line.length + 1) < 0)
  return lines.slice(from + 1)
}

/** What was written, without the mention; a mention alone stays, since an input must not be empty. */
function textOf({ text, files }: SlackMessage, { bot }: Workspace): IncomingPart[] {
  const written = withoutMention(text, bot)
  if (written !== '') return [{ type: 'text', text: written }]
  return files.length > 0 ? [] : [{ type: 'text', text: text.trim() || '(an empty message)' }]
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
