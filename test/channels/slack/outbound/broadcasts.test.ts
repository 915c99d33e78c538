import { afterEach, expect, test } from 'vitest'
import { directMessage } from '../../../slack-server/slack-events.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'
import { repliesOf, streamed, TS } from './reply-fixture.ts'

let harness: SlackHarness
afterEach(() => harness.close())

test('an answer never notifies a channel, a group or a workspace, even if it is streamed mid-word', async () => {
  const { turn, letGo } = streamed(['Say <', '!', 'ch', 'annel>, <!here>, <!subteam^S1> or <@U7> in <!DOCTYPE html>'])
  harness = await openSlackHarness({ script: [turn] })
  await harness.deliver(directMessage({ ts: TS, text: 'hello' }))
  await expect.poll(() => harness.slack.replies('D1', TS).length).toBe(1)
  letGo()
  await expect.poll(() => repliesOf(harness.slack, 'D1', TS).length).toBe(1)
  const [reply] = harness.slack.replies('D1', TS)
  expect(reply?.text).toBe('Say <!\u2060channel>, <!\u2060here>, <!\u2060subteam^S1> or <@U7> in <!DOCTYPE html>')
  expect(JSON.stringify(harness.slack.calls)).not.toMatch(/<!(?:channel|here|subteam)/)
})
