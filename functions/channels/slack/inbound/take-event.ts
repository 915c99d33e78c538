import type { RunLease } from '../../../ports/run-lease.ts'
import type { AgentService } from '../../../agent/service/agent-service.ts'
import type { AcceptMessageDependencies } from './accept-message.ts'
import { acceptMessage, isForBot } from './accept-message.ts'
import { readEvent } from './event.ts'
import type { SlackEvent, SlackMessage } from './event.ts'
import { isBudgetUsedUp, sayBudgetUsedUp, sayOnce } from './notices.ts'
import { isAllowed } from '../settings.ts'
import { sessionOf } from './thread.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'

/** How long an event's id is remembered. Slack repeats some events for a day. */
const EVENT_KNOWN_MS = 86_400_000

export interface TakeEventDependencies extends AcceptMessageDependencies {
  readonly service: Pick<AgentService, 'submit' | 'assertCapacity' | 'cancel'>
  readonly lease: Pick<RunLease, 'readHeader'>
  readonly workspaces: Workspaces
}

/**
 * Creates the handler of events. Its promise resolves when the event's work is durable. It ignores events of workspaces
 * that are not configured, and events that are not for the bot.
 */
export function createEventTaker(dependencies: TakeEventDependencies): (payload: unknown) => Promise<void> {
  /**
   * Messages that are being accepted. Slack repeats an event after 3 s; the repetition then waits for the same work.
   */
  const inFlight = new Map<string, Promise<void>>()
  /** For each thread, the acceptance of its newest message. A finished acceptance is removed. */
  const threads = new Map<string, Promise<void>>()

  async function once(event: SlackEvent): Promise<void> {
    const name = event.type === 'message' ? [event.team, event.channel, event.ts].join(' ') : ''
    const current = inFlight.get(name)
    if (current !== undefined) return current
    if (event.type !== 'message') return take(dependencies, event)
    const taken = inOrder(event)
    inFlight.set(name, taken)
    try {
      await taken
    } finally {
      inFlight.delete(name)
    }
  }

  /**
   * Accepts the messages of a thread in the order of their arrival. Otherwise a message could overtake an earlier one
   * whose session or row is still being stored.
   */
  async function inOrder(message: SlackMessage): Promise<void> {
    const thread = [message.team, message.channel, message.thread].join(' ')
    const before = threads.get(thread) ?? Promise.resolve()
    const taken = before.catch(() => undefined).then(() => take(dependencies, message))
    threads.set(thread, taken)
    try {
      await taken
    } finally {
      if (threads.get(thread) === taken) threads.delete(thread)
    }
  }

  return async (payload) => {
    const event = readEvent(payload)
    if (event !== undefined) await once(event)
  }
}

async function take(dependencies: TakeEventDependencies, event: SlackEvent): Promise<void> {
  const workspace = await dependencies.workspaces.find(event.team)
  if (workspace === undefined) return
  switch (event.type) {
    case 'message':
      return takeMessage(dependencies, workspace, event)
    case 'too_large':
      return dependencies.logger.warn('a message from Slack was too large, and ignored', { ...event })
    case 'stopped':
      return stop(dependencies, workspace, event)
    case 'home_opened':
      return suggest(dependencies, workspace, event.channel)
    default:
      event satisfies never
  }
}

async function takeMessage(
  dependencies: TakeEventDependencies,
  workspace: Workspace,
  message: SlackMessage,
): Promise<void> {
  if (!(await isForBot(dependencies, workspace, message))) return
  const { channel, user } = message
  if (!isAllowed(dependencies.settings, channel, user)) {
    const no = `Sorry, <@${user}>, I may not answer you here.`
    return sayOnce(dependencies, workspace, message, `refused:${user}`, no)
  }
  try {
    await acceptMessage(dependencies, workspace, message)
  } catch (error) {
    if (!isBudgetUsedUp(error)) throw error
    await sayBudgetUsedUp(dependencies, workspace, message)
  }
}

/**
 * Cancels the active run of the thread's session; queued messages are still answered. A repeated event cancels the run
 * that was active when the event first arrived, not a later one.
 */
async function stop(
  { service, lease, received, clock, settings }: TakeEventDependencies,
  { tenant }: Workspace,
  event: SlackEvent & { readonly type: 'stopped' },
): Promise<void> {
  if (!isAllowed(settings, event.channel, event.user)) return
  const key = sessionOf(tenant, event)
  const run = (await lease.readHeader(key))?.activeRun
  const name = `slack event ${event.team} ${event.id}`
  const meant = await received.remember(tenant, [name], run ?? '', clock.now() + EVENT_KNOWN_MS)
  if (run !== undefined && run === meant) await service.cancel(key, run)
}

/** Offers suggested prompts. A failure is ignored, because Slack shows the prompts only until the next message. */
async function suggest(
  { api, settings, logger }: TakeEventDependencies,
  { token, team }: Workspace,
  channel: string,
): Promise<void> {
  const { suggestedPrompts: prompts } = settings
  if (prompts.length === 0) return
  try {
    const method = 'assistant.threads.setSuggestedPrompts'
    await api.call({ token, team, method, args: { channel_id: channel, prompts: [...prompts] } })
  } catch (error) {
    logger.warn('the suggested prompts were not set', { error: String(error) })
  }
}
