import { sha256 } from '../../../domain/hash.ts'
import { countedFor, type Caps } from '../../../access/rates.ts'
import type { AgentService, IncomingPart } from '../../../agent/service/agent-service.ts'
import type { Delivery } from '../../../domain/delivery.ts'
import { TooltrailError } from '../../../domain/errors.ts'
import type { Session, SessionKey } from '../../../domain/session.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import type { Logger } from '../../../ports/logger.ts'
import type { MessageFeedback } from '../../../ports/message-feedback.ts'
import type { Outbox } from '../../../ports/outbox.ts'
import type { OutputStore } from '../../../ports/output-store.ts'
import type { RunQueue } from '../../../ports/run-queue.ts'
import type { SessionStore } from '../../../ports/session-store.ts'
import { hasEarlierRun } from './earlier-run.ts'
import { BUDGET_USED_UP, isBudgetUsedUp } from './notices.ts'
import { actionDelivery, actionId, actionOf, readPress } from './action.ts'
import type { Action, FeedbackPress } from './action.ts'
import { decided, plain } from '../outbound/blocks.ts'
import { readTarget } from '../outbound/reply-state.ts'
import { isAllowed } from '../settings.ts'
import type { SlackSettings } from '../settings.ts'
import { SlackRefusal } from '../api/slack-error.ts'
import { sessionOf, userOf } from './thread.ts'
import type { SlackApi } from '../api/web-api.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'

export interface ActDependencies {
  readonly api: Pick<SlackApi, 'call'>
  readonly workspaces: Workspaces
  readonly settings: SlackSettings
  readonly service: Pick<AgentService, 'submit' | 'continue' | 'resolve'>
  readonly sessions: Pick<SessionStore, 'read'>
  readonly reader: LogReader
  readonly outputs: Pick<OutputStore, 'read'>
  readonly outbox: Pick<Outbox, 'add' | 'read' | 'list'>
  readonly queue: Pick<RunQueue, 'send'>
  readonly feedback: MessageFeedback
  readonly clock: Clock
  /** The operator's limits. Only the tenant's budget applies to retries. */
  readonly caps: Caps
  readonly logger: Logger
  /** Whether this process executes a continued run. */
  readonly here: boolean
}

/**
 * Stores a pressed button with its person and time. The delivery driver executes the action later. For each retry or
 * decision, only the first press counts. For feedback, the last press of each person counts.
 */
export async function takeInteraction(dependencies: ActDependencies, payload: unknown): Promise<void> {
  const { outbox, queue, settings, workspaces, logger } = dependencies
  const action = readPress(payload)
  const workspace = action && (await workspaces.find(action.team))
  if (action === undefined || workspace === undefined || !isAllowed(settings, action.channel, action.user)) return
  const key = sessionOf(workspace.tenant, action)
  if (action.action === 'feedback') return giveFeedback(dependencies, key, action)
  if (!(await mayPress(dependencies, workspace, action))) return
  const isFirst = await outbox.add(
    { ...key, id: actionId(action.run, action.action === 'retry' ? 'retry' : action.call) },
    actionDelivery(action),
    {},
  )
  if (!isFirst) return
  try {
    await queue.send(key)
  } catch (error) {
    logger.warn('a hint at a pressed button was not sent: a sweep will find it', {
      session: key.session,
      error: String(error),
    })
  }
}

/**
 * Stores a person's rating durably, with the last message of the rated answer. Each press of the person replaces the
 * earlier rating.
 */
async function giveFeedback(
  { reader, feedback }: ActDependencies,
  key: SessionKey,
  { run, rating, at, user, ...where }: FeedbackPress,
): Promise<void> {
  const query = { run, roles: ['assistant'], order: 'descending', limit: 1 } as const
  const [answer] = (await reader.messages(key, query)).messages
  if (answer !== undefined) await feedback.give(key, answer.id, { rating, user: userOf(where, user), at })
}

/**
 * Whether the person may press a button of this run. The run must have a reply. Everyone may retry the run. Only its
 * author and the approvers in the settings may decide on its calls.
 */
async function mayPress(
  { outbox, settings }: ActDependencies,
  { tenant }: Workspace,
  action: Action,
): Promise<boolean> {
  const reply = await outbox.read({ ...sessionOf(tenant, action), id: action.run })
  if (reply === undefined) return false
  if (action.action === 'retry') return true
  return readTarget(reply.target).user === action.user || settings.approvers.includes(action.user)
}

/** Executes the action that this delivery stores. Can be repeated safely at any time. */
export async function act(dependencies: ActDependencies, delivery: Delivery): Promise<void> {
  const action = actionOf(delivery.target)
  const workspace = await dependencies.workspaces.find(action.team)
  if (workspace === undefined) throw new Error(`no workspace ${action.team} is configured`)
  const session = await dependencies.sessions.read(sessionOf(workspace.tenant, action))
  if (session === undefined) return
  const content =
    action.action === 'retry'
      ? await retry(dependencies, session, { action, delivery })
      : await decide(dependencies, session, action, action.action === 'approve')
  if (content === undefined) return
  const { channel, ts, team } = action
  const { token } = workspace
  try {
    await dependencies.api.call({ token, team, method: 'chat.update', args: { channel, ts, ...content } })
  } catch (error) {
    // The message was deleted, or is too old to be changed.
    if (!(error instanceof SlackRefusal)) throw error
  }
}

/** A pressed button and the delivery that stores it. */
interface Pressed {
  readonly action: Action
  readonly delivery: Delivery
}

/**
 * Starts a new run for the same message, and returns the new content of the button's message. Undefined if there is
 * nothing to retry.
 */
async function retry(dependencies: ActDependencies, session: Session, pressed: Pressed) {
  try {
    const isBegun = await runAgain(dependencies, session, pressed)
    return isBegun ? plain(`<@${pressed.action.user}> tried again.`) : undefined
  } catch (error) {
    if (!isBudgetUsedUp(error)) throw error
    return plain(BUDGET_USED_UP)
  }
}

async function runAgain(
  dependencies: ActDependencies,
  session: Session,
  { action, delivery }: Pressed,
): Promise<boolean> {
  const { service, reader, outputs, outbox, caps, here } = dependencies
  const name = sha256(`slack retry ${action.run}`)
  const accepting = { idempotency: { keyHash: name, bodyHash: name }, ...countedFor(session, caps) }
  const failed = await outbox.read({ tenant: session.tenant, session: session.session, id: action.run })
  if (failed === undefined) return false
  const isLater = ({ id, target }: Delivery): boolean => id > failed.id && target['ts'] === failed.target['ts']
  if (await hasEarlierRun(dependencies, delivery, isLater)) return true
  const again = { ...accepting, delivery: { kind: failed.kind, target: failed.target } }
  const isLatest = session.run?.id === action.run && session.run.status === 'failed'
  if (isLatest && (await isContinued(() => service.continue(session, again, { here })))) return true
  const query = { run: action.run, roles: ['user'], order: 'ascending', limit: 1 } as const
  const [input] = (await reader.messages(session, query)).messages
  if (input?.role !== 'user') return false
  const parts: IncomingPart[] = []
  for (const part of input.parts) {
    if (part.type === 'text') parts.push({ type: 'text', text: part.text })
    if (part.type === 'image' || part.type === 'file') {
      const { type, id, mediaType, filename = type } = part
      parts.push({ type, mediaType, filename, data: await outputs.read(session, id) })
    }
  }
  const user = input.user === undefined ? {} : { user: input.user }
  const submission = { parts, ...user, clientTools: [], onBusy: 'queue', ...again } as const
  await service.submit(session, submission, { here })
  return true
}

/** Tries to continue the failed run. Returns false if later messages follow, because the run cannot continue then. */
async function isContinued(continues: () => Promise<unknown>): Promise<boolean> {
  try {
    await continues()
    return true
  } catch (error) {
    if (error instanceof TooltrailError && error.code === 'nothing_to_continue') return false
    throw error
  }
}

async function decide(
  { service, reader, here }: ActDependencies,
  session: Session,
  action: Action & { readonly call?: string },
  approve: boolean,
) {
  const call = action.call === undefined ? undefined : await reader.message(session, action.call)
  if (call?.role !== 'tool' || call.runId !== action.run || call.needs !== 'approval') return undefined
  const by = userOf(action, action.user)
  const resolution = { toolCallId: call.toolCallId, messageId: call.id, approve, by }
  try {
    await service.resolve(session, action.run, [resolution], { here })
  } catch (error) {
    // Ignored: the call was decided elsewhere, or the run no longer waits for it.
    if (!(error instanceof TooltrailError) || error.retryable || error.code === 'storage_failed') throw error
  }
  // Reads the decision from the log, because another person may have decided earlier.
  const now = await reader.message(session, call.id)
  return decided(action, now?.role === 'tool' ? now : call)
}
