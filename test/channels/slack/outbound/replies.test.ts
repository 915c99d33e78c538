/* Evidence, deliveries: Slack's Stop stops only the run that was active when the Stop first arrived, however often Slack
 * delivers it. */
/* Evidence, deliveries: No text of a tool call, result, progress, member or failure reaches Slack. */
import { afterEach, describe, expect, test } from 'vitest'
import { ModelError } from '../../../../functions/ports/model.ts'
import { completionOf } from '../../../agent/harness.ts'
import type { Turn } from '../../../agent/harness.ts'
import { directMessage, eventCallback, mention } from '../../../slack-server/slack-events.ts'
import { expectJson } from '../../../http/harness.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'
import { leakyTool, repliesOf, streamed, TS, wholeText } from './reply-fixture.ts'

let harness: SlackHarness
afterEach(() => harness.close())

const ask = (text = 'hello'): Promise<Response> => harness.deliver(directMessage({ ts: TS, text }))
const texts = (): string[] => repliesOf(harness.slack, 'D1', TS).map(({ text }) => text)
const pending = async (): Promise<number> =>
  (await harness.http.ports.outbox.pending({ tenant: 'default', session: `slack-T1-D1-${TS}` }, 10)).length
const delivered = (): Promise<void> => expect.poll(pending).toBe(0)
const methods = (): string[] => harness.slack.calls.map(({ method }) => method)

test("a message gets one reply in its thread, with the run's id in its metadata", async () => {
  harness = await openSlackHarness({ script: [{ text: 'Hi **there**.' }] })
  await ask()
  await delivered()
  const [reply, ...others] = harness.slack.replies('D1', TS)
  expect(others).toEqual([])
  const run = (await harness.http.ports.sessions.read({ tenant: 'default', session: `slack-T1-D1-${TS}` }))?.run?.id
  expect(reply).toMatchObject({
    text: 'Hi **there**.',
    metadata: { event_type: 'tooltrail_reply', event_payload: { run_id: run, part: 1 } },
  })
  expect(harness.slack.state.statuses.map(({ status }) => status)).toEqual(['processing', 'active'])
})

test('text is streamed in chunks while the model produces it, and never sent in the field markdown_text', async () => {
  const { turn, letGo } = streamed(['One ', 'two ', 'three.'])
  harness = await openSlackHarness({ script: [turn] })
  await ask()
  await expect
    .poll(() => harness.slack.replies('D1', TS)[0])
    .toMatchObject({ streaming_state: 'in_progress', text: 'One ' })
  letGo()
  await delivered()
  expect(harness.slack.replies('D1', TS)).toMatchObject([{ streaming_state: 'completed', text: 'One two three.' }])
  expect(methods()).toContain('chat.startStream')
  expect(JSON.stringify(harness.slack.calls)).not.toContain('"markdown_text":')
})

test('tools are shown with name and state; no text of a call or a result reaches Slack', async () => {
  // The tool ends while the text before its call is streamed. The next completion follows before the next update to Slack.
  const execute: typeof leakyTool.execute = async (...call) => {
    await expect.poll(() => methods()).toContain('chat.startStream')
    return leakyTool.execute(...call)
  }
  harness = await openSlackHarness({
    script: [
      { text: 'Let me see.', calls: [{ name: 'leaky', arguments: '{"secret":"SECRET-ARGUMENT"}' }] },
      { text: 'All is well.' },
    ],
    tools: [{ ...leakyTool, execute }],
  })
  await ask()
  await delivered()
  expect(texts()).toEqual(['Let me see.\n\nAll is well.'])
  const everything = JSON.stringify(harness.slack.calls)
  expect(everything).not.toContain('SECRET')
  const tasks = harness.slack.calls.flatMap(({ args }) => (args['chunks'] as { type: string }[] | undefined) ?? [])
  const shown = tasks.filter(({ type }) => type === 'task_update')
  for (const task of shown) expect(Object.keys(task).toSorted()).toEqual(['id', 'status', 'title', 'type'])
  expect(shown.at(-1)).toMatchObject({ title: 'leaky', status: 'complete' })
})

test("Slack gets no text of a failed call, a failed run, a member, or a member's call", async () => {
  const task = JSON.stringify({ member: 'clerk', task: 'SECRET-TASK' })
  harness = await openSlackHarness({
    script: [
      {
        text: 'I ask the clerk.',
        calls: [
          { id: '1', name: 'delegate_task_to_member', arguments: task },
          { id: '2', name: 'broken', arguments: '{"secret":"SECRET-ARGUMENT"}' },
          { id: '3', name: 'leaky', arguments: '{"secret":"SECRET-MALFORMED' },
        ],
      },
      { text: 'SECRET-WORDS', calls: [{ id: '4', name: 'leaky', arguments: '{"secret":"SECRET-ARGUMENT"}' }] },
      { text: 'SECRET-ANSWER' },
      () => {
        throw new ModelError('invalid_request', 'SECRET-REASON', { retryable: false })
      },
    ],
    tools: [leakyTool, { ...leakyTool, name: 'broken', execute: () => Promise.reject(new Error('SECRET-ERROR')) }],
    agents: [{ name: 'default', members: ['clerk'] }, { name: 'clerk' }],
  })
  await ask()
  await delivered()
  const everything = JSON.stringify(harness.slack.calls)
  expect(everything).toContain('I ask the clerk.')
  expect(everything).toContain('tooltrail_retry')
  expect(everything).not.toContain('SECRET')
  const log = await harness.http.send('GET', `/v1/sessions/slack-T1-D1-${TS}/messages?limit=100`)
  const words = ['TASK', 'ARGUMENT', 'MALFORMED', 'WORDS', 'PROGRESS', 'RESULT', 'ANSWER', 'REASON', 'ERROR']
  const reported = await log.text()
  expect(words.filter((word) => !reported.includes(`SECRET-${word}`))).toEqual(['PROGRESS'])
})

test('a long answer is posted in several messages; over five messages, it is also posted as a file', async () => {
  const text = Array.from({ length: 4_000 }, (_, index) => `Sentence number ${index} says little.`).join('\n\n')
  harness = await openSlackHarness({ script: [{ text }] })
  await ask()
  await delivered()
  const replies = repliesOf(harness.slack, 'D1', TS)
  expect(replies).toHaveLength(5)
  for (const reply of replies) expect(reply.text.length).toBeLessThanOrEqual(12_000)
  expect(text.startsWith(replies.map((reply) => reply.text).join(''))).toBe(true)
  const files = harness.slack.replies('D1', TS).flatMap(({ file }) => (file === undefined ? [] : [file.content]))
  expect(files).toEqual([text])
})

test('a stream that lasts too long continues in a new message', async () => {
  const { turn, letGo } = streamed(['First paragraph.\n\n', 'Second paragraph.'])
  harness = await openSlackHarness({ script: [turn], streamSeconds: 0.5 })
  await ask()
  await expect.poll(() => harness.slack.replies('D1', TS)[0]?.streaming_state).toBe('in_progress')
  await expect.poll(() => harness.slack.calls.some(({ method }) => method === 'chat.startStream')).toBe(true)
  await new Promise((resolve) => setTimeout(resolve, 700))
  letGo()
  await delivered()
  expect(wholeText(harness.slack, 'D1', TS)).toBe('First paragraph.\n\nSecond paragraph.')
})

test('a failed run posts a button without the provider’s text; the button runs the message again', async () => {
  const fails: Turn = async function* () {
    yield { type: 'text.delta', part: 0, text: '' }
    throw new ModelError('invalid_request', 'PROVIDER-WORDS', { retryable: false })
  }
  harness = await openSlackHarness({ script: [fails, { text: 'Now it works.' }] })
  await ask()
  await expect.poll(() => harness.slack.replies('D1', TS).length).toBe(1)
  const [notice] = harness.slack.replies('D1', TS)
  expect(notice?.metadata).toMatchObject({ event_type: 'tooltrail_notice' })
  expect(JSON.stringify(harness.slack.calls)).not.toContain('PROVIDER-WORDS')
  const press = { message: notice, action: 'tooltrail_retry', user: 'U1', channel: 'D1' }
  await Promise.all([harness.press(press), harness.press(press)])
  await expect.poll(() => texts()).toEqual(['Now it works.'])
  expect(harness.slack.replies('D1', TS)[0]?.text).toBe('<@U1> tried again.')
})

test('Retry of an unknown run, or of a deleted session, has no effect', async () => {
  harness = await openSlackHarness({ script: [{ text: 'Fine.' }] })
  await ask()
  await delivered()
  const forged = { channel: 'D1', thread_ts: TS, ts: TS, text: '' }
  const retry = (run: string) => {
    const blocks = [{ elements: [{ type: 'button', action_id: 'tooltrail_retry', value: run }] }]
    return harness.press({ message: { ...forged, blocks }, action: 'tooltrail_retry', user: 'U1', channel: 'D1' })
  }
  expect((await retry('01JD0000000000000000000000')).status).toBe(200)
  expect(await pending()).toBe(0)
  const key = { tenant: 'default', session: `slack-T1-D1-${TS}` }
  const run = (await harness.http.ports.sessions.read(key))?.run?.id ?? ''
  await expectJson(harness.http, 200, 'DELETE', `/v1/sessions/${key.session}`)
  expect((await retry(run)).status).toBe(200)
  expect(await pending()).toBe(0)
  expect(texts()).toEqual(['Fine.'])
})

test('messages of one thread get their replies in the order of arrival', async () => {
  harness = await openSlackHarness({ script: [{ text: 'one' }, { text: 'two' }, { text: 'three' }] })
  for (const [index, text] of ['a', 'b', 'c'].entries())
    await harness.deliver(directMessage({ ts: `170000000${index + 1}.000100`, thread_ts: TS, text }))
  await delivered()
  expect(texts()).toEqual(['one', 'two', 'three'])
})

test('Slack’s Stop button cancels the run, and keeps the posted text', async () => {
  const { turn } = streamed(['So far. ', 'Never said.'])
  harness = await openSlackHarness({ script: [turn] })
  await ask()
  await expect.poll(() => harness.slack.replies('D1', TS)[0]?.text).toBe('So far. ')
  const [streaming] = harness.slack.state.messages
  Object.assign(streaming ?? {}, { stoppedByUser: true, streaming_state: 'completed' })
  await harness.stop({ channel: 'D1', thread_ts: TS, user: 'U1' })
  const key = { tenant: 'default', session: `slack-T1-D1-${TS}` }
  await expect.poll(async () => (await harness.http.ports.sessions.read(key))?.run?.status).toBe('cancelled')
  await delivered()
  expect(texts()).toEqual(['So far. '])
})

test('a redelivered Stop applies only to the run that its first delivery stopped', async () => {
  const [first, second] = [streamed(['One. ', 'Never said.']), streamed(['Two. ', 'And done.'])]
  const cancelled = new Set<string>()
  harness = await openSlackHarness({
    script: [first.turn, second.turn],
    change: (ports) => ({
      ...ports,
      inbox: { ...ports.inbox, cancel: (key, run) => (cancelled.add(run), ports.inbox.cancel(key, run)) },
    }),
  })
  await ask()
  await expect.poll(() => harness.slack.replies('D1', TS)[0]?.text).toBe('One. ')
  const place = { channel: 'D1', thread_ts: TS, user: 'U1' }
  const stop = eventCallback({ type: 'agent_session_stopped', event_ts: '1.1', streaming_message_ts: [], ...place })
  await Promise.all([harness.deliver(stop), harness.deliver(stop)])
  await expect.poll(() => texts()).toEqual(['One. '])
  await harness.deliver(directMessage({ ts: '1700000002.000100', thread_ts: TS, text: 'go on' }))
  await expect.poll(() => harness.slack.replies('D1', TS)[1]?.text).toBe('Two. ')
  expect((await harness.deliver(stop, { 'x-slack-retry-num': '1' })).status).toBe(200)
  second.letGo()
  await delivered()
  expect(texts()).toEqual(['One. ', 'Two. And done.'])
  expect([...cancelled]).toEqual([repliesOf(harness.slack, 'D1', TS)[0]?.metadata.event_payload.run_id])
})

describe('an approval', () => {
  const guarded = { ...leakyTool, name: 'guarded', needsApproval: true }
  const script: Turn[] = [{ calls: [{ name: 'guarded', arguments: '{"secret":"SECRET"}' }] }, { text: 'Done.' }]
  const buttons = async () => {
    await expect
      .poll(() => JSON.stringify(harness.slack.replies('C1', TS).at(-1)?.blocks ?? ''))
      .toContain('tooltrail_approve')
    return harness.slack.replies('C1', TS).at(-1)
  }
  const begin = async (approvers: readonly string[] = []): Promise<void> => {
    harness = await openSlackHarness({ script, tools: [guarded], slack: { approvers } })
    await harness.deliver(mention({ ts: TS, text: '<@UBOT> do it' }))
  }

  test.each([
    ['tooltrail_approve', '*guarded* was approved by <@U1>.', 'completed'],
    ['tooltrail_deny', '*guarded* was denied by <@U1>.', 'denied'],
  ] as const)(
    '%s by the person who asked continues the run, and the message names that person',
    async (action, text, status) => {
      await begin()
      const message = await buttons()
      expect(JSON.stringify(message)).not.toContain('SECRET')
      await harness.press({ message, action, user: 'U1', channel: 'C1' })
      await expect.poll(() => repliesOf(harness.slack, 'C1', TS).at(-1)?.text).toBe('Done.')
      expect(harness.slack.state.messages.find(({ ts }) => ts === message?.ts)?.text).toBe(text)
      const key = { tenant: 'default', session: `slack-T1-C1-${TS}` }
      const { messages } = await harness.http.ports.reader.messages(key, {
        order: 'ascending',
        limit: 20,
        roles: ['tool'],
      })
      const approved = status === 'completed'
      expect(messages).toMatchObject([{ status, decision: { approved, by: 'slack-T1-U1', at: expect.any(Number) } }])
    },
  )

  test('by another person has no effect, unless the settings name that person', async () => {
    await begin(['U9'])
    const message = await buttons()
    await harness.press({ message, action: 'tooltrail_approve', user: 'U2', channel: 'C1' })
    expect(harness.slack.state.messages.find(({ ts }) => ts === message?.ts)?.blocks).toBeDefined()
    await harness.press({ message, action: 'tooltrail_approve', user: 'U9', channel: 'C1' })
    await expect.poll(() => repliesOf(harness.slack, 'C1', TS).at(-1)?.text).toBe('Done.')
  })
})

test('the reply for an empty answer says that the answer is empty', async () => {
  harness = await openSlackHarness({ script: [() => emptyTurn()] })
  await ask()
  await delivered()
  expect(texts()).toEqual(['_The answer is empty._'])
})

async function* emptyTurn(): AsyncGenerator<{
  readonly type: 'completion'
  readonly completion: ReturnType<typeof completionOf>
}> {
  yield { type: 'completion', completion: completionOf({ text: '' }) }
}
