import { afterEach, expect, test, vi } from 'vitest'
import { ModelError } from '../../../../functions/ports/model.ts'
import type { Turn } from '../../../agent/harness.ts'
import { directMessage } from '../../../slack-server/slack-events.ts'
import { expectJson } from '../../../http/harness.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'
import { repliesOf, TS } from '../outbound/reply-fixture.ts'

let harness: SlackHarness
afterEach(async () => {
  vi.useRealTimers()
  await harness.close()
})

const fails: Turn = async function* () {
  yield { type: 'text.delta', part: 0, text: '' }
  throw new ModelError('invalid_request', 'no', { retryable: false })
}

test('Retry runs the message again, also if messages were imported after the failed run', async () => {
  harness = await openSlackHarness({ script: [fails, { text: 'Now it works.' }] })
  await harness.deliver(directMessage({ ts: TS, text: 'hello' }))
  await expect.poll(() => harness.slack.replies('D1', TS).length).toBe(1)
  const messages = [
    { role: 'user', content: 'once' },
    { role: 'assistant', content: 'upon a time' },
  ]
  await expectJson(harness.http, 200, 'POST', `/v1/sessions/slack-T1-D1-${TS}/import`, { format: 'openai', messages })
  const [message] = harness.slack.replies('D1', TS)
  await harness.press({ message, action: 'tooltrail_retry', user: 'U1', channel: 'D1' })
  await expect.poll(() => repliesOf(harness.slack, 'D1', TS).map(({ text }) => text)).toEqual(['Now it works.'])
})

const DAY_MS = 86_400_000

/**
 * Acts like a worker that accepted the run, but died before it could store the delivery as delivered. Delivery resumes
 * after a day. Returns the number of the session's runs.
 */
async function runsAfterADay(kind: string): Promise<number> {
  const { outbox, sessions, reader } = harness.http.ports
  const [found] = (await sessions.list({ tenant: 'default', limit: 1 })).sessions
  const filter = { tenant: 'default', session: found?.session ?? '', kind, limit: 2 }
  const read = async () => (await outbox.list(filter)).deliveries
  const statuses = async () => (await read()).map(({ status }) => status)
  await expect.poll(statuses).toEqual(['delivered'])
  const [row] = await read()
  if (row === undefined) throw new Error(`there is no delivery of the kind ${kind}`)
  vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true, now: Date.now() + DAY_MS + 1_000 })
  await outbox.change(row, { status: 'pending', owner: 'dead', due: row.createdAt, begun: 1 })
  await expect.poll(statuses).toEqual(['delivered'])
  return (await reader.runs(row, { limit: 9 })).runs.length
}

test('a message with a file starts one run, even if delivery resumes a day after the worker died', async () => {
  harness = await openSlackHarness({ script: [{ text: 'A file.' }, { text: 'A file again.' }] })
  harness.slack.files.set('a.csv', { type: 'text/csv', data: Buffer.from('a,b\n') })
  const files = [{ name: 'a.csv', mimetype: 'text/csv', url_private: harness.slack.fileUrl('a.csv') }]
  await harness.deliver(directMessage({ ts: TS, text: 'look', files }))
  await expect.poll(() => repliesOf(harness.slack, 'D1', TS).map(({ text }) => text)).toEqual(['A file.'])
  expect(await runsAfterADay('slack-message')).toBe(1)
})

test('a press of Retry starts one run, even if delivery resumes a day after the worker died', async () => {
  harness = await openSlackHarness({ script: [fails, { text: 'Now it works.' }, { text: 'Again.' }] })
  await harness.deliver(directMessage({ ts: TS, text: 'hello' }))
  await expect.poll(() => harness.slack.replies('D1', TS).length).toBe(1)
  const [message] = harness.slack.replies('D1', TS)
  await harness.press({ message, action: 'tooltrail_retry', user: 'U1', channel: 'D1' })
  await expect.poll(() => repliesOf(harness.slack, 'D1', TS).map(({ text }) => text)).toEqual(['Now it works.'])
  expect(await runsAfterADay('slack-action')).toBe(2)
})
