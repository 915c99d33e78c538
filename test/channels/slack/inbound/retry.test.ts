import { afterEach, expect, test } from 'vitest'
import { ModelError } from '../../../../functions/ports/model.ts'
import type { Turn } from '../../../agent/harness.ts'
import { directMessage } from '../../../slack-server/slack-events.ts'
import { expectJson } from '../../../http/harness.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'
import { repliesOf, TS } from '../outbound/reply-fixture.ts'

let harness: SlackHarness
afterEach(() => harness.close())

test('Retry asks again also where messages were imported behind the run that failed', async () => {
  const fails: Turn = async function* () {
    yield { type: 'text.delta', part: 0, text: '' }
    throw new ModelError('invalid_request', 'no', { retryable: false })
  }
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
