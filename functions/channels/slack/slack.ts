import type { AgentService } from '../../agent/service/agent-service.ts'
import type { RunChannel, SessionChannel } from '../../delivery/channel.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { InboundEndpoint } from '../../ports/inbound-endpoint.ts'
import { act, takeInteraction } from './inbound/act.ts'
import type { ActDependencies } from './inbound/act.ts'
import { createSlackChannel } from './outbound/channel.ts'
import type { ChannelDependencies } from './outbound/channel.ts'
import { connectSlack } from './api/connection.ts'
import type { SlackConnection } from './api/connection.ts'
import { createSlackEndpoint } from './endpoint.ts'
import { createIncoming } from './inbound/incoming.ts'
import type { IncomingDependencies } from './inbound/incoming.ts'
import { createPeople } from './inbound/people.ts'
import { listenOnSocket } from './inbound/socket-mode.ts'
import { createEventTaker } from './inbound/take-event.ts'
import type { TakeEventDependencies } from './inbound/take-event.ts'

type Dependencies = Omit<
  TakeEventDependencies & ActDependencies & ChannelDependencies & IncomingDependencies,
  keyof SlackConnection | 'people'
> &
  Parameters<typeof connectSlack>[0] & { readonly service: AgentService }

export interface Slack {
  readonly endpoint: InboundEndpoint
  readonly replies: RunChannel
  readonly actions: RunChannel
  readonly incoming: SessionChannel
  /** Whether this process has the token of a delivery's workspace. */
  serves(target: JsonObject): Promise<boolean>
  /** Receives events in Socket Mode until `signal` aborts, and handles them like the endpoint does. */
  listen(appToken: string, signal: AbortSignal): Promise<void>
}

/** Creates the Slack integration: its inbound endpoint and its channel for replies. */
export function createSlack(given: Dependencies): Slack {
  const dependencies = { ...given, ...connectSlack(given) }
  const taking = {
    takeEvent: createEventTaker({ ...dependencies, people: createPeople(dependencies) }),
    takeInteraction: (payload: unknown) => takeInteraction(dependencies, payload),
  }
  return {
    endpoint: createSlackEndpoint({
      ...dependencies,
      signingSecret: () => given.secret('SLACK_SIGNING_SECRET'),
      ...taking,
    }),
    listen: (appToken, signal) => listenOnSocket({ ...dependencies, ...taking }, appToken, signal),
    // If Slack does not respond, the result is true: the delivery is claimed, and retried later.
    serves: async ({ team }) =>
      typeof team !== 'string' || (await dependencies.workspaces.find(team).catch(() => true)) !== undefined,
    replies: createSlackChannel(dependencies),
    incoming: createIncoming(dependencies),
    actions: {
      begins: 'end',
      async deliver({ delivery }) {
        await act(dependencies, delivery)
        return { status: 'delivered' }
      },
    },
  }
}
