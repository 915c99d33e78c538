import type { Caps } from '../access/rates.ts'
import type { AgentService } from '../agent/service/agent-service.ts'
import type { ChannelDependencies } from '../channels/slack/outbound/channel.ts'
import type { SlackSettings } from '../channels/slack/settings.ts'
import type { Channel } from '../delivery/channel.ts'
import type { Agent } from '../domain/agent.ts'
import { inTime } from '../ports/time-limited.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { InboundEndpoint } from '../ports/inbound-endpoint.ts'
import type { OutputStore } from '../ports/output-store.ts'
import type { MessageFeedback } from '../ports/message-feedback.ts'
import type { Outbox } from '../ports/outbox.ts'
import type { Received } from '../ports/received.ts'
import type { RunLease } from '../ports/run-lease.ts'
import type { LogReader } from '../ports/log-reader.ts'
import type { RunQueue } from '../ports/run-queue.ts'
import type { SessionStore } from '../ports/session-store.ts'
import { withSecrets } from './settings/named-secrets.ts'

export interface SlackOptions {
  readonly settings: SlackSettings
  /** Address of Slack's Web API. */
  readonly apiUrl: string
  readonly allowedHosts: readonly string[]
  /** Seconds after which a stream continues in a new message. */
  readonly streamSeconds: number
  readonly agents: ReadonlyMap<string, Agent>
  readonly caps: Caps
  /** Whether this process executes the runs that it accepts. */
  readonly here: boolean
  /** Reads the current values of the secrets that settings name. */
  secrets(): Promise<(name: string) => string | undefined>
}

type Ports = Pick<ChannelDependencies, 'inbox' | 'clock' | 'logger'> & {
  readonly sessions: SessionStore
  readonly reader: LogReader
  readonly outputs: OutputStore
  readonly outbox: Outbox
  readonly feedback: MessageFeedback
  readonly lease: RunLease
  readonly received: Received
  readonly queue: RunQueue
}

export interface Slack {
  /** Destinations of Slack's deliveries, by their kind. */
  readonly channels: ReadonlyMap<string, Channel>
  /**
   * Creates the inbound endpoint for Slack over the service that executes its runs. Call it before the first delivery,
   * because deliveries wait for the service.
   */
  endpoint(service: AgentService): InboundEndpoint
  /** Receives Slack's input in Socket Mode instead of through the endpoint, until `signal` aborts. */
  listen(appToken: string, signal: AbortSignal): Promise<void>
}

/** Key for rate limits and delays: Slack may be slow in one channel, or with one person. */
const destination = ({ team, channel }: JsonObject): Json => [team ?? null, channel ?? null]

/**
 * Opens Slack over the program's ports. Slack's modules are loaded with the first input from Slack or the first
 * delivery to it, because most processes never need them.
 */
export function openSlack(options: SlackOptions, given: Ports): Slack {
  const ports = inTime(given)
  const { settings, apiUrl, allowedHosts, streamSeconds, secrets } = options
  const secret = async (name: string): Promise<string | undefined> => (await secrets())(name)
  const service = Promise.withResolvers<AgentService>()
  let opening: ReturnType<typeof open> | undefined
  const opened = (): ReturnType<typeof open> => (opening ??= open())
  async function open() {
    const parts = await import('../channels/slack/slack.ts')
    const filled = async (text: string): Promise<string> => withSecrets(text, await secrets())
    return parts.createSlack({
      ...ports,
      ...options,
      settings,
      apiUrl,
      allowedHosts,
      streamMs: streamSeconds * 1_000,
      service: await service.promise,
      secret,
      filled,
    })
  }
  const common = { destination, serves: async (target: JsonObject) => (await opened()).serves(target) }
  return {
    channels: new Map<string, Channel>([
      ['slack', { begins: 'start', ...common, deliver: async (work) => (await opened()).replies.deliver(work) }],
      ['slack-action', { begins: 'end', ...common, deliver: async (work) => (await opened()).actions.deliver(work) }],
      [
        'slack-message',
        { begins: 'hint', ...common, deliver: async (work) => (await opened()).incoming.deliver(work) },
      ],
    ]),
    listen: async (appToken, signal) => (await opened()).listen(appToken, signal),
    endpoint(given) {
      service.resolve(given)
      return { path: '/slack/events', open: async (request) => (await opened()).endpoint.open(request) }
    },
  }
}
