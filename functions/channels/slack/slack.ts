import type { AgentService } from '../../agent/service/agent-service.ts'
import type { RunChannel, SessionChannel } from '../../delivery/channel.ts'
import type { Door } from '../../ports/door.ts'
import { act, takeInteraction } from './arriving/act.ts'
import type { ActDependencies } from './arriving/act.ts'
import { actionOf } from './arriving/action.ts'
import { createSlackChannel } from './replying/channel.ts'
import type { ChannelDependencies } from './replying/channel.ts'
import { connectSlack } from './api/connection.ts'
import type { SlackConnection } from './api/connection.ts'
import { createSlackDoor } from './door.ts'
import { createIncoming } from './arriving/incoming.ts'
import type { IncomingDependencies } from './arriving/incoming.ts'
import { listenOnSocket } from './arriving/socket-mode.ts'
import { createEventTaker } from './arriving/take-event.ts'
import type { TakeEventDependencies } from './arriving/take-event.ts'

type Dependencies = Omit<
  TakeEventDependencies & ActDependencies & ChannelDependencies & IncomingDependencies,
  keyof SlackConnection
> &
  Parameters<typeof connectSlack>[0] & { readonly service: AgentService }

export interface Slack {
  readonly door: Door
  readonly replies: RunChannel
  readonly actions: RunChannel
  readonly incoming: SessionChannel
  /** Receives in Socket Mode what would come to the door, until `signal` aborts. */
  listen(appToken: string, signal: AbortSignal): Promise<void>
}

/** Slack: what comes in at its door, and the replies that go out. */
export function createSlack(given: Dependencies): Slack {
  const dependencies = { ...given, ...connectSlack(given) }
  const taking = {
    takeEvent: createEventTaker(dependencies),
    takeInteraction: (payload: unknown) => takeInteraction(dependencies, payload),
  }
  return {
    door: createSlackDoor({
      ...dependencies,
      signingSecret: () => given.secret('SLACK_SIGNING_SECRET'),
      ...taking,
    }),
    listen: (appToken, signal) => listenOnSocket({ ...dependencies, ...taking }, appToken, signal),
    replies: createSlackChannel(dependencies),
    incoming: createIncoming(dependencies),
    actions: {
      begins: 'end',
      async deliver({ delivery }) {
        await act(dependencies, actionOf(delivery.target))
        return { status: 'delivered' }
      },
    },
  }
}
