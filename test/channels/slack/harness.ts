import type { SlackSettings } from '../../../functions/channels/slack/settings.ts'
import { DEFAULT_SLACK } from '../../../functions/channels/slack/settings.ts'
import { openHttpHarness } from '../../http/harness.ts'
import type { HttpHarness } from '../../http/harness.ts'
import { SIGNING_SECRET, signedHeaders } from '../../slack-server/slack-events.ts'
import { BOT_TOKEN, startSlackServer } from '../../slack-server/slack-server.ts'
import type { SlackServer } from '../../slack-server/slack-server.ts'

export interface SlackHarness {
  readonly http: HttpHarness
  readonly slack: SlackServer
  /** Slack delivers this payload. */
  deliver(payload: object, headers?: Record<string, string>): Promise<Response>
  sessions(): Promise<readonly string[]>
  close(): Promise<void>
}

const SECRETS: Readonly<Record<string, string>> = {
  SLACK_BOT_TOKEN: BOT_TOKEN,
  SLACK_SIGNING_SECRET: SIGNING_SECRET,
}

/** The program on real SQLite with a Slack of its own. */
export async function openSlackHarness(
  options: Omit<NonNullable<Parameters<typeof openHttpHarness>[0]>, 'slack'> & {
    readonly slack?: Partial<SlackSettings>
    readonly secrets?: Readonly<Record<string, string>>
    readonly server?: SlackServer
  } = {},
): Promise<SlackHarness> {
  const slack = options.server ?? (await startSlackServer())
  const secrets = { ...SECRETS, ...options.secrets }
  const http = await openHttpHarness({
    ...options,
    slack: {
      settings: { ...DEFAULT_SLACK, ...options.slack },
      apiUrl: slack.apiUrl,
      allowedHosts: [slack.host],
      secrets: async () => (name) => secrets[name as keyof typeof secrets],
    },
  })
  return {
    http,
    slack,
    async deliver(payload, headers = {}) {
      const body = JSON.stringify(payload)
      return http.program.app.request('http://somewhere.example/slack/events', {
        method: 'POST',
        body,
        headers: { ...signedHeaders(body), ...headers },
      })
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
