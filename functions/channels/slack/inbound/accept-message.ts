import { countedFor } from '../../../access/rates.ts'
import { channelMayEnter } from '../../../access/sessions.ts'
import type { AgentService } from '../../../agent/service/agent-service.ts'
import type { Agent } from '../../../domain/agent.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { TooltrailError } from '../../../domain/errors.ts'
import { keyOf } from '../../../domain/session.ts'
import type { Session } from '../../../domain/session.ts'
import type { Logger } from '../../../ports/logger.ts'
import type { Outbox } from '../../../ports/outbox.ts'
import type { RunQueue } from '../../../ports/run-queue.ts'
import type { SessionStore } from '../../../ports/session-store.ts'
import type { SlackMessage } from './event.ts'
import { hasIncoming, keepIncoming } from './incoming.ts'
import { sayDeleted } from './notices.ts'
import type { NoticeDependencies } from './notices.ts'
import { mustBeRead, writtenParts } from './read-input.ts'
import type { People } from './people.ts'
import type { SlackSettings } from '../settings.ts'
import { submitMessage } from './submit-message.ts'
import type { SubmitMessageDependencies } from './submit-message.ts'
import { mentions } from '../outbound/text.ts'
import { ownerOf, sessionOf } from './thread.ts'
import type { Workspace } from '../workspaces.ts'

export interface AcceptMessageDependencies extends SubmitMessageDependencies, NoticeDependencies {
  readonly service: Pick<AgentService, 'submit' | 'assertCapacity'>
  readonly settings: SlackSettings
  readonly sessions: Pick<SessionStore, 'create' | 'read'>
  readonly outbox: Pick<Outbox, 'add' | 'pending'>
  readonly queue: Pick<RunQueue, 'send'>
  readonly agents: ReadonlyMap<string, Agent>
  readonly people: People
  readonly logger: Logger
}

/** Whether a person wrote a message for the bot: a direct message, a mention, or a message in a known thread. */
export async function isForBot(
  dependencies: Pick<AcceptMessageDependencies, 'settings' | 'sessions' | 'people'>,
  workspace: Workspace,
  message: SlackMessage,
): Promise<boolean> {
  if (message.user === workspace.bot || !(await isAddressed(dependencies, workspace, message))) return false
  const { botId, user, isDirect } = message
  // A message that an app posted counts as a person's message in two cases. First, the message is in a direct
  // conversation, where only the person writes. Second, our own app posted the message: our app can post as a user only
  // with that user's token.
  if (botId === undefined || isDirect || botId === workspace.botId) return true
  return dependencies.people.isPerson(workspace, user)
}

async function isAddressed(
  { settings, sessions }: Pick<AcceptMessageDependencies, 'settings' | 'sessions'>,
  { tenant, bot }: Workspace,
  message: SlackMessage,
): Promise<boolean> {
  if (message.isDirect || message.isMention || mentions(message.text, bot)) return true
  if (!settings.followUps || message.thread === message.ts) return false
  const known = await sessions.read(sessionOf(tenant, message))
  return known !== undefined && channelMayEnter(known, ownerOf(message))
}

/**
 * Accepts a message for its thread's session, durably and once, however often Slack delivers it. Slack itself is not
 * called. If data for a message must be read from Slack, the message waits in the outbox, and so do later messages of its
 * thread (decision record 29).
 *
 * A message for a deleted session is not accepted, and the thread gets a notice. A message for another owner's session is
 * ignored. Rejects with `tenant_budget_used_up`.
 */
export async function acceptMessage(
  dependencies: AcceptMessageDependencies,
  workspace: Workspace,
  message: SlackMessage,
): Promise<void> {
  const session = await enterThread(dependencies, workspace, message)
  if (session === undefined) return sayDeleted(dependencies, workspace, message)
  if (!channelMayEnter(session, ownerOf(message)))
    return dependencies.logger.warn("a message for another owner's session was ignored", { ...keyOf(session) })
  const waits = mustBeRead(session, message) || (await hasIncoming(dependencies, session))
  if (waits) await keepIncoming(dependencies, keyOf(session), message)
  else await submitMessage(dependencies, session, message, writtenParts(message, workspace))
}

/**
 * Returns the thread's session. Creates a missing session if the limits allow a new run. Returns undefined if the
 * session was deleted. A new session records the message that created it, because the input of this message must also
 * contain the thread's earlier messages.
 */
async function enterThread(
  { settings, sessions, service, caps, agents }: AcceptMessageDependencies,
  workspace: Workspace,
  message: SlackMessage,
): Promise<Session | undefined> {
  const key = sessionOf(workspace.tenant, message)
  const found = await sessions.read(key)
  if (found !== undefined) return found
  await service.assertCapacity(key.tenant, countedFor(key, caps))
  const { [message.channel]: own } = settings.channels
  const agent = own?.agent ?? workspace.agent
  try {
    return await sessions.create({
      ...key,
      agent,
      owner: ownerOf(message),
      metadata: { slack_first: message.ts },
      byChannel: true,
      ...definedFields({ ttlDays: agents.get(agent)?.policies.ttlDays ?? undefined }),
    })
  } catch (error) {
    if (!(error instanceof TooltrailError) || error.code !== 'session_exists') throw error
    return sessions.read(key)
  }
}
