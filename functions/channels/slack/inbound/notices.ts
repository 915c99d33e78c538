import { randomUUID } from 'node:crypto'
import { TooltrailError } from '../../../domain/errors.ts'
import { dayOf } from '../../../domain/usage/usage-count.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Received } from '../../../ports/received.ts'
import { DuplicateNotice } from '../api/slack-error.ts'
import type { SlackApi } from '../api/web-api.ts'
import { plain } from '../outbound/blocks.ts'
import type { Workspace } from '../workspaces.ts'
import type { SlackMessage } from './event.ts'
import { threadMessages } from './thread-messages.ts'

/** How long the message that requested a notice is remembered. */
const KNOWN_MS = 86_400_000

const THIS_PROCESS = randomUUID()
/**
 * Maximum time that a process needs to post a notice. Another process with the same notice fails during this time, and Slack
 * repeats the event.
 */
const SAYING_MS = 10_000

const DELETED = 'This conversation was deleted, and cannot go on here for up to 30 days. Please begin a new thread.'
export const BUDGET_USED_UP = 'What may be used in a day is used up. Please ask again after midnight (UTC).'

export interface NoticeDependencies {
  readonly api: Pick<SlackApi, 'call'>
  readonly received: Received
  readonly clock: Clock
}

/** Whether a run was rejected because the tenant's daily budget is used up. */
export const isBudgetUsedUp = (error: unknown): boolean =>
  error instanceof TooltrailError && error.code === 'tenant_budget_used_up'

/** Posts a notice that the tenant's budget for the day is used up. Posts it once a day per thread. */
export const sayBudgetUsedUp = (
  dependencies: NoticeDependencies,
  workspace: Workspace,
  message: SlackMessage,
): Promise<void> =>
  sayOnce(dependencies, workspace, message, `budget:${dayOf(dependencies.clock.now())}`, BUDGET_USED_UP)

/** Posts a notice that the thread's session was deleted. Posts it once a day per thread. */
export const sayDeleted = (
  dependencies: NoticeDependencies,
  workspace: Workspace,
  message: SlackMessage,
): Promise<void> => sayOnce(dependencies, workspace, message, `deleted:${dayOf(dependencies.clock.now())}`, DELETED)

/**
 * Posts a notice in a thread. The notice is posted only for the first message that requests it. For a repetition of
 * that message, it is posted only if the thread does not contain it yet. The thread is read for this, because no
 * session stores the notice. Rejects with `DuplicateNotice` while another process is posting the notice: Slack delivers
 * a message with a mention twice, as two events.
 */
export async function sayOnce(
  { api, received, clock }: NoticeDependencies,
  { tenant, token, team }: Workspace,
  message: SlackMessage,
  notice: string,
  text: string,
): Promise<void> {
  const { channel, thread, ts } = message
  const name = `slack notice ${team} ${channel} ${thread} ${notice}`
  if ((await received.remember(tenant, [name], ts, clock.now() + KNOWN_MS)) !== ts) return
  const earlier = await threadMessages(api, token, message, {})
  if (earlier.some(({ metadata }) => metadata?.event_payload['notice'] === notice)) return
  if ((await received.remember(tenant, [`${name} said`], THIS_PROCESS, clock.now() + SAYING_MS)) !== THIS_PROCESS)
    throw new DuplicateNotice()
  const metadata = { event_type: 'tooltrail_notice', event_payload: { notice } }
  const args = { channel, thread_ts: thread, metadata, ...plain(text) }
  await api.call({ token, team, method: 'chat.postMessage', args })
}
