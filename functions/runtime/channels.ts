import { asJson, CALLBACK, destinationOf, isSendable, stateOf, withAttempt } from '../channels/callbacks/state.ts'
import type { WebhookDependencies } from '../channels/webhooks/endpoint.ts'
import type { RunChannel } from '../delivery/channel.ts'
import { inTime } from '../ports/time-limited.ts'
import type { InboundEndpoint } from '../ports/inbound-endpoint.ts'
import type { LogReader } from '../ports/log-reader.ts'
import type { CallbackDependencies } from '../channels/callbacks/channel.ts'
import type { ChannelSettings } from './settings/channel-settings.ts'
import { withSecrets } from './settings/named-secrets.ts'

interface Dependencies extends Omit<CallbackDependencies, 'settings' | 'render'> {
  readonly reader: LogReader
  readonly channels: ChannelSettings
  /** Reads the current values of the secrets that settings name. */
  readonly secrets: () => Promise<(name: string) => string | undefined>
}

/**
 * Opens the destinations of deliveries, by their kind. Each destination is loaded with the first delivery to it,
 * because most processes have no deliveries.
 */
export function openChannels(dependencies: Dependencies): ReadonlyMap<string, RunChannel> {
  const { clock } = dependencies
  const callbacks: RunChannel = {
    ...late('end', () => openCallbacks(dependencies)),
    destination: destinationOf,
    serves: async (target) => isSendable(target, dependencies.channels.callbacks),
    givenUp: (delivery, error) => asJson(withAttempt(stateOf(delivery), { at: clock.now(), error })),
  }
  return new Map([[CALLBACK, callbacks]])
}

async function openCallbacks(dependencies: Dependencies): Promise<RunChannel> {
  const { reader, channels, secrets, ...ports } = inTime(dependencies)
  const { createCallbackChannel } = await import('../channels/callbacks/channel.ts')
  const { callbackBody } = await import('../http/v1/callbacks/body.ts')
  return createCallbackChannel({
    ...ports,
    render: (key, run, pause) => callbackBody(reader, key, run, pause),
    async settings(name) {
      const found = channels.callbacks.get(name)
      return found && { ...found, secret: withSecrets(found.secret, await secrets()) }
    },
  })
}

function late(begins: RunChannel['begins'], open: () => Promise<RunChannel>): RunChannel {
  let opening: Promise<RunChannel> | undefined
  return { begins, deliver: async (work) => (await (opening ??= open())).deliver(work) }
}

type WebhookPorts = Pick<
  WebhookDependencies,
  'sessions' | 'deletion' | 'received' | 'agents' | 'caps' | 'clock' | 'logger'
>

/**
 * Opens the inbound endpoint of webhooks, which passes inputs to the service. Its module is loaded with the first
 * request. Returns no endpoint if no webhook is configured.
 */
export function openEndpoints(
  {
    channels,
    secrets,
    here,
    ...ports
  }: WebhookPorts & Pick<Dependencies, 'channels' | 'secrets'> & { readonly here: boolean },
  service: WebhookDependencies['service'],
): readonly InboundEndpoint[] {
  if (channels.webhooks.size === 0) return []
  let opening: Promise<InboundEndpoint> | undefined
  const open = async (): Promise<InboundEndpoint> => {
    const { createWebhookEndpoint } = await import('../channels/webhooks/endpoint.ts')
    const filled = async (text: string): Promise<string> => withSecrets(text, await secrets())
    return createWebhookEndpoint({ ...ports, webhooks: channels.webhooks, service, filled, here })
  }
  return [{ path: '/webhooks/*', open: async (request) => (await (opening ??= open())).open(request) }]
}
