import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReceiver, SECRET } from '../channels/callbacks/receiver.ts'
import type { Receiver } from '../channels/callbacks/receiver.ts'
import { SIGNING_SECRET } from '../slack-server/slack-events.ts'
import { BOT_TOKEN, startSlackServer } from '../slack-server/slack-server.ts'
import type { SlackServer } from '../slack-server/slack-server.ts'

/** Secret that signs a webhook's request. */
export const HOOK_SECRET = `whsec_${Buffer.from('the secret of those who send us').toString('base64')}`
/** Name of a field that the agents' file uses, but the deployment's secret lacks. */
export const MISSING = 'NOBODY_SET_THIS'

/** Services outside the deployed system, except the model, with the system's settings for these services. */
export interface Outside {
  readonly slack: SlackServer
  readonly receiver: Receiver
  /** Environment variables of the functions. */
  readonly variables: Readonly<Record<string, string>>
  /** Fields of the deployment's secret. */
  readonly secrets: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** Starts a Slack server and a receiver of callbacks, and writes the agents' file with their settings. */
export async function openOutside(): Promise<Outside> {
  const [slack, receiver] = await Promise.all([startSlackServer(), openReceiver()])
  const folder = await mkdtemp(join(tmpdir(), 'tooltrail-outside-'))
  const file = join(folder, 'agents.json')
  const verify = { preset: 'standard', secrets: ['${secret:HOOK_SECRET}'] }
  const callback = { url: receiver.url, secret: '${secret:CALLBACK_SECRET}' }
  const webhooks = {
    tickets: { tenant: 'acme', verify, text: '{{/text}}', session: 'ticket-{{/id}}', callback },
    unset: { verify: { preset: 'bearer', secrets: [`\${secret:${MISSING}}`] }, text: 'x', session: 'x' },
  }
  await writeFile(file, JSON.stringify({ agents: {}, slack: { tenant: 'acme' }, webhooks }))
  return {
    slack,
    receiver,
    variables: {
      TOOLTRAIL_AGENTS: file,
      TOOLTRAIL_ALLOWED_HOSTS: `${slack.host},${receiver.host}`,
      SLACK_API_URL: slack.apiUrl,
    },
    secrets: { SLACK_BOT_TOKEN: BOT_TOKEN, SLACK_SIGNING_SECRET: SIGNING_SECRET, HOOK_SECRET, CALLBACK_SECRET: SECRET },
    async close() {
      await Promise.all([slack.close(), receiver.close(), rm(folder, { recursive: true, force: true })])
    },
  }
}
