import { steadyTime } from '../../../domain/time/steady-time.ts'
import * as z from 'zod'
import type { Claimed, Outcome, SessionChannel } from '../../../delivery/channel.ts'
import type { Delivery } from '../../../domain/delivery.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { Logger } from '../../../ports/logger.ts'
import type { Outbox } from '../../../ports/outbox.ts'
import type { RunQueue } from '../../../ports/run-queue.ts'
import type { SessionStore } from '../../../ports/session-store.ts'
import { pollUntil } from '../../../ports/poll-until.ts'
import type { SlackMessage } from './event.ts'
import { hasEarlierRun } from './earlier-run.ts'
import { isBudgetUsedUp, sayBudgetUsedUp } from './notices.ts'
import type { NoticeDependencies } from './notices.ts'
import { readInput } from './read-input.ts'
import type { ReadInputDependencies } from './read-input.ts'
import { submitMessage } from './submit-message.ts'
import type { SubmitMessageDependencies } from './submit-message.ts'
import type { Workspaces } from '../workspaces.ts'

/**
 * The kind of rows that store incoming messages. These are messages for which data must be read from Slack, and the
 * later messages of their threads.
 */
const INCOMING_KIND = 'slack-message'
/** Number of pending deliveries that are read to find earlier messages of the thread. */
const MAX_EARLIER_MESSAGES = 100
/** Polling interval for earlier messages, and the timeout after which the delivery is rescheduled. */
const EARLIER_MS = 200
const EARLIER_MESSAGES_TIMEOUT_MS = 30_000

const kept = z.object({
  type: z.literal('message'),
  team: z.string(),
  channel: z.string(),
  thread: z.string(),
  ts: z.string(),
  user: z.string(),
  text: z.string(),
  // Rows of earlier versions do not have this field.
  attached: z.string().default(''),
  files: z.array(
    z.object({
      name: z.string(),
      mediaType: z.string(),
      url: z.string().exactOptional(),
      bytes: z.number().exactOptional(),
    }),
  ),
  isDirect: z.boolean(),
  isMention: z.boolean(),
})

/** Returns the id of a message's row. Such ids sort in the order of the thread, and before the ids of all runs. */
const incomingId = ({ ts }: SlackMessage): string => `0.${ts}`

/** Stores a message in the outbox until it is submitted. A repetition of the message is not stored again. */
export async function keepIncoming(
  { outbox, queue, logger }: { outbox: Pick<Outbox, 'add'>; queue: Pick<RunQueue, 'send'>; logger: Logger },
  key: SessionKey,
  message: SlackMessage,
): Promise<void> {
  const target = { ...message, files: message.files.map((file) => ({ ...file })) }
  if (!(await outbox.add({ ...key, id: incomingId(message) }, { kind: INCOMING_KIND, target }, {}))) return
  try {
    await queue.send(key)
  } catch (error) {
    logger.warn('a hint at a message was not sent: a sweep will find it', { ...key, error: String(error) })
  }
}

/** Whether messages of the session wait in the outbox. */
export async function hasIncoming(
  { outbox }: { readonly outbox: Pick<Outbox, 'pending'> },
  key: SessionKey,
): Promise<boolean> {
  const [first] = await outbox.pending(key, 1)
  return first?.kind === INCOMING_KIND
}

export interface IncomingDependencies extends ReadInputDependencies, SubmitMessageDependencies, NoticeDependencies {
  readonly workspaces: Workspaces
  readonly sessions: Pick<SessionStore, 'read'>
  readonly outbox: Pick<Outbox, 'pending' | 'list'>
}

/** Submits the stored messages in the order of their thread, after reading the missing data from Slack. */
export function createIncoming(dependencies: IncomingDependencies): SessionChannel {
  return {
    begins: 'hint',
    async deliver(work) {
      const { delivery, signal } = work
      const message = kept.parse(delivery.target)
      const workspace = await dependencies.workspaces.find(message.team)
      if (workspace === undefined) throw new Error(`no workspace ${message.team} is configured`)
      const session = await dependencies.sessions.read(delivery)
      // The session was deleted, and the row is deleted with it.
      if (session === undefined) return { status: 'failed' }
      // Files are large, so only one message of a thread is processed at a time.
      const late = await earlierMessages(dependencies, work)
      if (late !== undefined) return late
      if (await hasEarlierRun(dependencies, delivery, ({ target }) => target['ts'] === message.ts))
        return { status: 'delivered' }
      const parts = await readInput(dependencies, workspace, session, message, signal)
      try {
        await submitMessage(dependencies, session, message, parts)
      } catch (error) {
        if (!isBudgetUsedUp(error)) throw error
        await sayBudgetUsedUp(dependencies, workspace, message)
      }
      return { status: 'delivered' }
    },
  }
}

/**
 * Waits until the earlier messages of the thread are submitted. After a timeout, returns the time of the next attempt.
 */
async function earlierMessages(
  { outbox, clock }: Pick<IncomingDependencies, 'outbox' | 'clock'>,
  { delivery, signal }: Claimed,
): Promise<Outcome | undefined> {
  const isEarlier = (one: Delivery): boolean => one.kind === INCOMING_KIND && one.id < delivery.id
  const now = steadyTime(() => clock.now())
  const begun = now()
  const outcome = await pollUntil(clock, { everyMs: EARLIER_MS, signal }, async () => {
    const isWaiting = (await outbox.pending(delivery, MAX_EARLIER_MESSAGES)).some(isEarlier)
    if (!isWaiting) return 'first'
    const isLate = now() - begun > EARLIER_MESSAGES_TIMEOUT_MS
    return isLate ? { retryAt: clock.now() + EARLIER_MESSAGES_TIMEOUT_MS } : undefined
  })
  signal.throwIfAborted()
  return outcome === 'first' ? undefined : outcome
}
