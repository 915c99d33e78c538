import { afterEach, expect, test } from 'vitest'
import { completionOf } from '../../agent/harness.ts'
import { directMessage } from '../../slack-server/slack-events.ts'
import { openSlackHarness } from './harness.ts'
import type { SlackHarness } from './harness.ts'
import { TS } from './outbound/reply-fixture.ts'

let harness: SlackHarness
afterEach(() => harness.close())

const pending = async (): Promise<number> =>
  (await harness.http.ports.outbox.pending({ tenant: 'default', session: `slack-T1-D1-${TS}` }, 10)).length

test('the response is 503 if Slack identifies the bot too slowly, and the next delivery is accepted', async () => {
  harness = await openSlackHarness()
  const { promise, resolve } = Promise.withResolvers<undefined>()
  harness.slack.fault = ({ method }) => (method === 'auth.test' ? promise : undefined)
  const event = directMessage({ ts: '1700000001.000100', text: 'hello' })
  const begun = performance.now()
  expect((await harness.deliver(event)).status).toBe(503)
  expect(performance.now() - begun).toBeLessThan(3_000)
  resolve(undefined)
  expect((await harness.deliver(event, { 'x-slack-retry-num': '1' })).status).toBe(200)
  await expect.poll(() => harness.http.requests.length).toBe(1)
})

test('the first words are sent immediately', async () => {
  const first = Promise.withResolvers<void>()
  const over = Promise.withResolvers<void>()
  harness = await openSlackHarness({
    script: [
      async function* () {
        // Waits longer than a run needs to start. As a result, Slack first shows the run without text.
        await new Promise((resolve) => setTimeout(resolve, 100))
        yield { type: 'text.delta', part: 0, text: 'At once.' }
        first.resolve()
        await over.promise
        yield { type: 'completion', completion: completionOf({ text: 'At once.' }) }
      },
    ],
  })
  await harness.deliver(directMessage({ ts: TS, text: 'hello' }))
  await first.promise
  const said = performance.now()
  await expect.poll(() => harness.slack.replies('D1', TS)[0]?.text, { interval: 10, timeout: 5_000 }).toBe('At once.')
  const waited = performance.now() - said
  over.resolve()
  await expect.poll(pending).toBe(0)
  // The first words are shown at once, not with the next regular update, which might come a second later.
  expect(waited).toBeLessThan(750)
})
