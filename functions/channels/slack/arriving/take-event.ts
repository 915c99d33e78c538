import type { RunLease } from '../../../ports/run-lease.ts'
import type { AgentService } from '../../../agent/intake/agent-service.ts'
import type { AcceptMessageDependencies } from './accept-message.ts'
import { acceptMessage, isForBot } from './accept-message.ts'
import { plain } from '../replying/blocks.ts'
import { readEvent } from './event.ts'
import type { SlackEvent, SlackMessage } from './event.ts'
import { isAllowed } from '../settings.ts'
import { sessionOf } from './thread.ts'
import { threadMessages } from './thread-messages.ts'
import type { SlackApi } from '../api/web-api.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'

export interface TakeEventDependencies extends AcceptMessageDependencies {
  readonly api: Pick<SlackApi, 'call'>
  readonly service: Pick<AgentService, 'submit' | 'cancel'>
  readonly lease: Pick<RunLease, 'look'>
  readonly workspaces: Workspaces
}

/**
 * Returns what takes an event: its promise resolves when what the event asks for is durable. Ignored are workspaces that nobody
 * has configured, and everything that is not for the bot.
 */
export function createEventTaker(dependencies: TakeEventDependencies): (payload: unknown) => Promise<void> {
  /** Slack delivers again what took longer than 3 s: a repetition waits for the first. */
  const underWay = new Map<string, Promise<void>>()

  async function once(event: SlackEvent): Promise<void> {
    const name = event.type === 'message' ? [event.team, event.channel, event.ts].join(' ') : ''
    const current = underWay.get(name)
    if (current !== undefined) return current
    const taken = take(dependencies, event)
    if (name === '') return taken
    underWay.set(name, taken)
    try {
      await taken
    } finally {
      underWay.delete(name)
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
  if (!isAllowed(dependencies.settings, message.channel, message.user)) return refuse(dependencies, workspace, message)
  await acceptMessage(dependencies, workspace, message)
}

/**
 * Says no, once to a person in a thread. No session keeps that: the thread itself does, and is read before.
 */
async function refuse(
  { api }: TakeEventDependencies,
  { token, team }: Workspace,
  message: SlackMessage,
): Promise<void> {
  const notice = `refused:${message.user}`
  const earlier = await threadMessages(api, token, message, {})
  if (earlier.some(({ metadata }) => metadata?.event_payload['notice'] === notice)) return
  const args = {
    channel: message.channel,
    thread_ts: message.thread,
    metadata: { event_type: 'tooltrail_notice', event_payload: { notice } },
    ...plain(`Sorry, <@${message.user}>, I may not answer you here.`),
  }
  await api.call({ token, team, method: 'chat.postMessage', args })
}

/** Cancels what the thread's session is doing; messages that wait behind it are still answered. */
async function stop(
  { service, lease, settings }: TakeEventDependencies,
  { tenant }: Workspace,
  event: SlackEvent & { readonly type: 'stopped' },
): Promise<void> {
  if (!isAllowed(settings, event.channel, event.user)) return
  const key = sessionOf(tenant, event)
  const run = (await lease.look(key))?.activeRun
  if (run !== undefined) await service.cancel(key, run)
}

/** Offers what could be asked. Slack shows it until the next message, so a failure is no loss. */
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
