import { signatureOf } from '../../functions/channels/slack/inbound/signature.ts'
import { BOT, BOT_TOKEN } from './slack-server.ts'
import type { SlackServer } from './slack-server.ts'

export const SIGNING_SECRET = 'shh-this-is-the-signing-secret'

let events = 0

/** The body that Slack's reference shows for an event. */
export const eventCallback = (event: object, fields: object = {}): object => ({
  token: 'XXYYZZ',
  team_id: BOT.team,
  api_app_id: 'A123',
  type: 'event_callback',
  event_id: `Ev${++events}`,
  event_time: 1_700_000_000,
  event_context: '4-eyJ',
  authorizations: [{ enterprise_id: null, team_id: BOT.team, user_id: BOT.user, is_bot: true }],
  event,
  ...fields,
})

/** A direct message to the bot. */
export const directMessage = (fields: object): object =>
  eventCallback({ type: 'message', channel: 'D1', channel_type: 'im', user: 'U1', event_ts: '1', ...fields })

/** A mention of the bot in a channel. */
export const mention = (fields: object): object =>
  eventCallback({ type: 'app_mention', channel: 'C1', user: 'U1', event_ts: '1', ...fields })

/** A message in a channel, for an app that reads all messages of channels. */
export const channelMessage = (fields: object): object =>
  eventCallback({ type: 'message', channel: 'C1', channel_type: 'channel', user: 'U1', event_ts: '1', ...fields })

/** Signs a body that Slack sent at `at` (milliseconds since 1970). Returns the headers. */
export function signedHeaders(body: string, { at = Date.now(), secret = SIGNING_SECRET } = {}): Record<string, string> {
  const timestamp = String(Math.floor(at / 1_000))
  return {
    'content-type': 'application/json',
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': signatureOf(secret, timestamp, body),
  }
}

/** Delivers an event to a program at this address. Returns the status of the response. */
export async function sendEvent(url: string, event: object, more: Record<string, string> = {}): Promise<number> {
  const body = JSON.stringify(event)
  const request = { method: 'POST', body, headers: { ...signedHeaders(body), ...more } }
  return (await fetch(`${url}/slack/events`, request)).status
}

/** Settings that connect a program to this Slack server. */
export const slackSettings = (slack: SlackServer): Record<string, string> => ({
  MODEL: 'demo/demo',
  SLACK_BOT_TOKEN: BOT_TOKEN,
  SLACK_SIGNING_SECRET: SIGNING_SECRET,
  SLACK_API_URL: slack.apiUrl,
  TOOLTRAIL_ALLOWED_HOSTS: slack.host,
})

/** A form with the JSON of a pressed button. */
export const formOf = (payload: object): string => new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
