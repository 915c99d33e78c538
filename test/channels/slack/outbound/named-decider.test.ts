/* Evidence, deliveries: A message in Slack names the person who decided. The bot reads the newest messages of a long thread. */
/*
 * A message in Slack names only the person who decided. In this test, a call is decided over the API. Before the run ends,
 * U1 presses a button in Slack. The press has no effect.
 */
import { afterEach, expect, test } from 'vitest'
import type { Turn } from '../../../agent/harness.ts'
import { mention } from '../../../slack-server/slack-events.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'
import { leakyTool, repliesOf, streamed, TS } from './reply-fixture.ts'

let harness: SlackHarness
afterEach(() => harness.close())

test.each([
  [false, 'tooltrail_approve', 'denied'],
  [true, 'tooltrail_deny', 'approved'],
  [true, 'tooltrail_approve', 'approved'],
  [false, 'tooltrail_deny', 'denied'],
] as const)(
  'after a decision over the API (approve=%s), a press of %s shows %s and names no person',
  async (approve, press, word) => {
    const last = streamed(['Do', 'ne.'])
    const script: Turn[] = [{ calls: [{ name: 'guarded', arguments: '{"secret":"x"}' }] }, last.turn]
    harness = await openSlackHarness({ script, tools: [{ ...leakyTool, name: 'guarded', needsApproval: true }] })
    await harness.deliver(mention({ ts: TS, text: '<@UBOT> do it' }))
    await expect
      .poll(() => JSON.stringify(harness.slack.replies('C1', TS).at(-1)?.blocks ?? ''))
      .toContain('tooltrail_approve')
    const message = harness.slack.replies('C1', TS).at(-1)
    const session = `slack-T1-C1-${TS}`
    const run = (await harness.http.ports.sessions.read({ tenant: 'default', session }))?.run?.id ?? ''
    const calls = async () =>
      (
        await harness.http.ports.reader.messages(
          { tenant: 'default', session },
          { order: 'ascending', limit: 20, roles: ['tool'] },
        )
      ).messages
    const [call] = await calls()
    const answered = await harness.http.send(
      'POST',
      `/v1/sessions/${session}/runs/${run}/tool-results`,
      { results: [{ message_id: call?.id, tool_call_id: call?.role === 'tool' ? call.toolCallId : '', approve }] },
      { prefer: 'respond-async' },
    )
    expect(answered.status).toBeLessThan(300)
    // The run continues, and the buttons are still there.
    await harness.press({ message, action: press, user: 'U1', channel: 'C1' })
    last.letGo()
    await expect.poll(() => repliesOf(harness.slack, 'C1', TS).at(-1)?.text).toBe('Done.')
    await expect
      .poll(async () => (await harness.http.ports.outbox.pending({ tenant: 'default', session }, 10)).length)
      .toBe(0)
    const said = harness.slack.calls.flatMap(({ method, args }) =>
      method === 'chat.update' && args['ts'] === message?.ts ? [String(args['text'])] : [],
    )
    const [decided] = await calls()
    expect(decided).toMatchObject({ decision: { approved: approve } })
    expect(JSON.stringify(decided)).not.toContain('slack-T1-U1')
    expect(new Set(said)).toEqual(new Set([`*guarded* was ${word}.`]))
  },
)
