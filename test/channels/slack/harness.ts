import { NO_CAPS } from '../../../functions/access/rates.ts'
import type { SlackSettings } from '../../../functions/channels/slack/settings.ts'
import { DEFAULT_SLACK } from '../../../functions/channels/slack/settings.ts'
import { openSlack } from '../../../functions/runtime/open-slack.ts'
import type { Slack } from '../../../functions/runtime/open-slack.ts'
import { openHttpHarness } from '../../http/harness.ts'
import type { HttpHarness } from '../../http/harness.ts'
import type { Ports } from '../../../functions/runtime/program.ts'
import type { StoredMessage } from '../../slack-server/slack-messages.ts'
import { eventCallback, formOf, SIGNING_SECRET, signedHeaders } from '../../slack-server/slack-events.ts'
import { APP_TOKEN, BOT_TOKEN, startSlackServer } from '../../slack-server/slack-server.ts'
import type { SocketServer } from '../../slack-server/socket-server.ts'
import type { SlackServer } from '../../slack-server/slack-server.ts'

export interface SlackHarness {
  readonly http: HttpHarness
  readonly slack: SlackServer
  /** Delivers this payload to the program, as Slack does. */
  deliver(payload: object, headers?: Record<string, string>): Promise<Response>
  /** Connects in Socket Mode to this server until `signal` aborts. */
  listen(socket: SocketServer, signal: AbortSignal): Promise<void>
  /** Presses a button of a message. */
  press(pressed: {
    message: StoredMessage | undefined
    action: string
    user: string
    channel: string
    /** The feedback button that is pressed. */
    choice?: 'positive' | 'negative'
    at?: string
  }): Promise<Response>
  /** Presses Slack's Stop. */
  stop(where: { channel: string; thread_ts: string; user: string }): Promise<Response>
  sessions(): Promise<readonly string[]>
  close(): Promise<void>
}

interface BlockElement {
  readonly type: string
  readonly action_id: string
  readonly value?: string
  readonly positive_button?: { readonly value: string }
  readonly negative_button?: { readonly value: string }
}

const SECRETS: Readonly<Record<string, string>> = {
  SLACK_BOT_TOKEN: BOT_TOKEN,
  SLACK_SIGNING_SECRET: SIGNING_SECRET,
}

/** Opens the program on real SQLite, with a separate Slack server. */
export async function openSlackHarness(
  options: NonNullable<Parameters<typeof openHttpHarness>[0]> & {
    readonly slack?: Partial<SlackSettings>
    readonly secrets?: Readonly<Record<string, string>>
    readonly server?: SlackServer
    readonly streamSeconds?: number
  } = {},
): Promise<SlackHarness> {
  const slack = options.server ?? (await startSlackServer())
  const secrets = { ...SECRETS, ...options.secrets }
  const hosts = [slack.host]
  let opened: Slack | undefined
  const open = (ports: Ports): Slack =>
    (opened ??= openSlack(
      {
        settings: { ...DEFAULT_SLACK, ...options.slack },
        apiUrl: slack.apiUrl,
        allowedHosts: hosts,
        streamSeconds: options.streamSeconds ?? 240,
        agents: new Map(),
        caps: options.settings?.caps ?? NO_CAPS,
        here: true,
        secrets: async () => (name) => secrets[name as keyof typeof secrets],
      },
      ports,
    ))
  const http = await openHttpHarness({
    ...options,
    channels: (ports) => open(ports).channels,
    endpoints: (ports) => (service) => [open(ports).endpoint(service)],
  })
  async function deliver(payload: object, headers: Record<string, string> = {}): Promise<Response> {
    const body = JSON.stringify(payload)
    return http.program.app.request('http://somewhere.example/slack/events', {
      method: 'POST',
      body,
      headers: { ...signedHeaders(body), ...headers },
    })
  }
  return {
    http,
    slack,
    deliver,
    async listen(socket, signal) {
      slack.state.socketUrl = socket.url
      hosts.push(socket.host)
      await opened?.listen(APP_TOKEN, signal)
    },
    async press({ message, action, user, channel, choice, at = '1700000000.000100' }) {
      const blocks = (message?.blocks ?? []) as readonly { elements?: readonly BlockElement[] }[]
      const element = blocks.flatMap(({ elements = [] }) => elements).find((one) => one.action_id === action)
      const value = choice === undefined ? element?.value : element?.[`${choice}_button`]?.value
      const pressed = { type: element?.type, action_id: element?.action_id, value, action_ts: at }
      const body = formOf({
        type: 'block_actions',
        team: { id: 'T1' },
        user: { id: user },
        channel: { id: channel },
        message: { ts: message?.ts, thread_ts: message?.thread_ts },
        actions: element === undefined ? [] : [pressed],
      })
      return http.program.app.request('http://somewhere.example/slack/events', {
        method: 'POST',
        body,
        headers: { ...signedHeaders(body), 'content-type': 'application/x-www-form-urlencoded' },
      })
    },
    stop(where) {
      const event = { type: 'agent_session_stopped', event_ts: '1.1', streaming_message_ts: [], ...where }
      return deliver(eventCallback(event))
    },
    async sessions() {
      const { sessions } = await http.ports.sessions.list({ tenant: 'default', limit: 50 })
      return sessions.map(({ session }) => session)
    },
    async close() {
      await http.close()
      await slack.close()
    },
  }
}
