import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import type { RunBody } from '../../e2e/backend/client.ts'
import { directMessage, formOf, signedHeaders } from '../../slack-server/slack-events.ts'
import type { StoredMessage } from '../../slack-server/slack-messages.ts'
import { HOOK_SECRET, MISSING } from '../outside.ts'
import type { System } from '../system.ts'
import { within } from './within.ts'

const TS = '1700000001.000100'
const SESSION = `slack-T1-D1-${TS}`
/** Time limit for a hint, a worker's start, and the requests to Slack. */
const REPLY_MS = 60_000
/** Time limit for a callback's first retry. The first two retries follow after 5 s and 30 s, and a sweep after a minute. */
const RETRIED_MS = 30_000

interface Callback {
  readonly id: string
  readonly status: string
  readonly attempts: readonly { readonly status?: number }[]
}

/** Scenarios of inbound and outbound messages of Slack and other programs. */
export function declareChannels(system: () => System): void {
  const post = async (path: string, body: string, headers: Record<string, string>): Promise<Response> =>
    fetch(`${system().deployment.apiUrl}${path}`, { method: 'POST', body, headers })

  async function hook(id: string, body: object): Promise<{ readonly status: number; readonly run_id?: string }> {
    const text = JSON.stringify(body)
    const at = new Date()
    const response = await post('/webhooks/tickets', text, {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': new Webhook(HOOK_SECRET).sign(id, at, text),
    })
    return { status: response.status, ...((await response.json()) as object) }
  }

  const callbacks = async (session: string): Promise<readonly Callback[]> =>
    (await system().client.get<{ data: readonly Callback[] }>(`/v1/callbacks?session=${session}`)).data

  test('a message in Slack gets one reply from a worker, however often it is delivered', async () => {
    const { outside, functions, client } = system()
    const body = JSON.stringify(directMessage({ ts: TS, text: 'what time is it' }))
    const delivered = await Promise.all([1, 2, 3].map(() => post('/slack/events', body, signedHeaders(body))))
    expect(delivered.map(({ status }) => status)).toStrictEqual([200, 200, 200])
    const replied = (): StoredMessage[] =>
      outside.slack
        .replies('D1', TS)
        .filter(({ metadata }) => JSON.stringify(metadata ?? '').includes('tooltrail_reply'))
    await within(REPLY_MS, 'the reply', async () => replied().length > 0)
    const runs = await client.all<RunBody>(`/v1/sessions/${SESSION}/runs?limit=10`)
    expect(runs.map(({ status }) => status)).toStrictEqual(['completed'])
    expect(replied()).toHaveLength(1)
    expect(functions.Worker.events.filter((event) => JSON.stringify(event).includes(SESSION)).length).toBeGreaterThan(0)
  })

  test('feedback on the reply is stored with it, and is found', async () => {
    const { outside, client } = system()
    const [reply] = outside.slack.replies('D1', TS)
    const value = /"value":"([0-9A-Z]{26}\.negative)"/.exec(JSON.stringify(reply?.blocks))?.[1]
    const body = formOf({
      type: 'block_actions',
      team: { id: 'T1' },
      user: { id: 'U1' },
      channel: { id: 'D1' },
      message: { ts: reply?.ts, thread_ts: TS },
      actions: [{ type: 'feedback_buttons', action_id: 'tooltrail_feedback', value, action_ts: TS }],
    })
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await post('/slack/events', body, { ...signedHeaders(body), ...type })).status).toBe(200)
    const answer = (await client.messages(SESSION)).at(-1)
    expect(answer?.feedback).toMatchObject([{ rating: 'negative', user: 'slack-T1-U1' }])
    await within(REPLY_MS, 'the rating in the history', async () => {
      const path = `/v1/search?q=&feedback=negative&session=${SESSION}`
      const { data } = await client.get<{ data: readonly { message_id: string }[] }>(path)
      return data.some(({ message_id: id }) => id === answer?.id)
    })
  })

  test('a webhook starts a run, and its receiver is notified once by id, even after a failed attempt', async () => {
    const { outside, client } = system()
    let isDown = true
    outside.receiver.respond = () => {
      if (!isDown) return { status: 204 }
      isDown = false
      return { status: 503 }
    }
    const [first, again] = [
      await hook('delivery-1', { id: 7, text: 'what time is it' }),
      await hook('delivery-1', { id: 8, text: 'something else' }),
    ]
    expect(first).toMatchObject({ status: 202, session_id: 'ticket-7' })
    expect(again).toStrictEqual(first)
    await client.runUntil('ticket-7', first.run_id ?? '', ['completed'])
    const begun = Date.now()
    const [reported] = await within(RETRIED_MS, 'the callback', async () => {
      const listed = await callbacks('ticket-7')
      return listed.every(({ status }) => status === 'delivered') && listed
    })
    expect(reported?.attempts.map(({ status }) => status)).toStrictEqual([503, 204])
    expect(Date.now() - begun).toBeLessThan(RETRIED_MS)
    const received = outside.receiver.requests.map(({ id, type, body }) => [id, type, body])
    expect(received).toHaveLength(2)
    expect(received[0]).toStrictEqual(received[1])
    expect(received[0]?.slice(0, 2)).toStrictEqual([reported?.id, 'run.completed'])
  })

  test('a missing secret of the settings is reported in the log and counted', () => {
    const log = system().functions.Api.log()
    expect(log).toContain(`webhooks.unset.verify.secrets.0: there is no variable ${MISSING}`)
    expect(log).toContain('"MissingSecrets":1')
  })
}
