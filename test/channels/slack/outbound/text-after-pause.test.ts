/*
 * All text of a run is posted to its thread. In these tests, the text may exceed five messages before an approval, and
 * continues after the approval.
 */
import { afterEach, expect, test } from 'vitest'
import type { Turn } from '../../../agent/harness.ts'
import { mention } from '../../../slack-server/slack-events.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'
import { leakyTool, TS } from './reply-fixture.ts'

let harness: SlackHarness
afterEach(() => harness.close())

test('the text before an approval is above the approval’s buttons, also if no stream can begin', async () => {
  const script: Turn[] = [{ text: 'I delete the old file.', calls: [{ name: 'guarded', arguments: '{"secret":"x"}' }] }]
  harness = await openSlackHarness({ script, tools: [{ ...leakyTool, name: 'guarded', needsApproval: true }] })
  harness.slack.fault = ({ method }) =>
    method === 'chat.startStream' ? { refusal: 'not_allowed_token_type' } : undefined
  await harness.deliver(mention({ ts: TS, text: '<@UBOT> do it' }))
  const shown = () => harness.slack.replies('C1', TS).map(({ text, blocks }) => JSON.stringify([text, blocks ?? '']))
  await expect.poll(() => shown().at(-1) ?? '').toContain('tooltrail_approve')
  expect(shown().map((one) => one.includes('I delete the old file.'))).toEqual([true, false])
})

async function expectShown(_how: string, sentences: number): Promise<void> {
  const long = Array.from({ length: sentences }, (_, index) => `Sentence number ${index} says little.`).join('\n\n')
  const script: Turn[] = [
    { text: long, calls: [{ name: 'guarded', arguments: '{"secret":"x"}' }] },
    { text: 'THE CONCLUSION.' },
  ]
  harness = await openSlackHarness({ script, tools: [{ ...leakyTool, name: 'guarded', needsApproval: true }] })
  await harness.deliver(mention({ ts: TS, text: '<@UBOT> do it' }))
  await expect
    .poll(() => JSON.stringify(harness.slack.replies('C1', TS).at(-1)?.blocks ?? ''))
    .toContain('tooltrail_approve')
  await harness.press({
    message: harness.slack.replies('C1', TS).at(-1),
    action: 'tooltrail_approve',
    user: 'U1',
    channel: 'C1',
  })
  const key = { tenant: 'default', session: `slack-T1-C1-${TS}` }
  await expect.poll(async () => (await harness.http.ports.outbox.pending(key, 10)).length).toBe(0)
  const shown = [
    ...harness.slack.replies('C1', TS).map(({ text }) => text),
    ...[...harness.slack.state.uploads.values()].map((upload) => JSON.stringify(upload)),
  ].join('\n')
  expect(shown.includes('THE CONCLUSION.')).toBe(true)
}

test.each([
  ['little', 100],
  ['much', 2_500],
] as const)('text after a pause is shown if %s text precedes the pause', expectShown)
