import type { HttpAgent, Message } from '@ag-ui/client'
import { afterEach, describe, expect, test } from 'vitest'
import { ModelError } from '../../../functions/ports/model.ts'
import { completionOf, makeTool } from '../../agent/harness.ts'
import { PNG } from '../../fixtures/png.ts'
import { expectJson, heldTurn, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { agUiAgent, pendingCalls, runAgUi, say } from './client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const open = async (options: Parameters<typeof openHttpHarness>[0] = {}): Promise<void> => {
  harness = await openHttpHarness(options)
}
const weather = { name: 'weather', description: '', parameters: { type: 'object' } }

const agent = (messages?: Message[]): HttpAgent => agUiAgent(harness, messages)
const log = async (): Promise<Record<string, unknown>[]> =>
  (await expectJson<{ data: Record<string, unknown>[] }>(harness, 200, 'GET', '/v1/sessions/talk/messages')).data

describe('an AG-UI run', () => {
  test('emits its reasoning, texts, tool calls with results, and usage', async () => {
    await open({
      tools: [makeTool('look', async () => ({ text: 'seen' }))],
      script: [
        async function* () {
          yield { type: 'reasoning.delta', part: 0, text: 'Hm.' }
          const call = { id: 'c1', name: 'look', arguments: '{"at":1}' }
          const completion = completionOf({ text: 'Let me look.', calls: [call], inputTokens: 5 })
          yield {
            type: 'completion',
            completion: { ...completion, parts: [{ type: 'reasoning', text: 'Hm.' }, ...completion.parts] },
          }
        },
        { text: 'It is here.', inputTokens: 7 },
      ],
    })
    const one = agent([say('Where?')])
    const { events, types } = await runAgUi(one, { runId: 'mine' })
    expect(events[0]).toMatchObject({ type: 'RUN_STARTED', threadId: 'talk', runId: 'mine' })
    expect(types.filter((type) => type !== 'TOOL_CALL_RESULT')).toEqual([
      'RUN_STARTED',
      'REASONING_START',
      'REASONING_MESSAGE_START',
      'REASONING_MESSAGE_CONTENT',
      'REASONING_MESSAGE_END',
      'REASONING_END',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'TOOL_CALL_START',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_END',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ])
    expect(events.at(-1)).toMatchObject({
      threadId: 'talk',
      runId: 'mine',
      outcome: { type: 'success' },
      usage: [{ inputTokens: 12 }],
    })
    const said = one.messages.filter(({ role }) => role === 'assistant')
    expect(said).toMatchObject([
      { content: 'Let me look.', toolCalls: [{ function: { name: 'look', arguments: '{"at":1}' } }] },
      { content: 'It is here.' },
    ])
    expect(one.messages.find(({ role }) => role === 'tool')).toMatchObject({ content: 'seen' })
  })

  test('continues in its thread; only the new messages are stored', async () => {
    await open({ script: [{ text: 'One.' }, { text: 'Two.' }] })
    const one = agent([say('First')])
    await runAgUi(one)
    one.addMessage(say('Second'))
    await runAgUi(one)
    expect((await log()).map(({ parts }) => (parts as { text: string }[])[0]?.text)).toEqual([
      'First',
      'One.',
      'Second',
      'Two.',
    ])
  })

  test('sends images to the model', async () => {
    await open()
    const content = [
      { type: 'text' as const, text: 'What is it?' },
      { type: 'image' as const, source: { type: 'data' as const, value: PNG, mimeType: 'image/png' } },
    ]
    await runAgUi(agent([{ id: 'm', role: 'user', content }]))
    expect(harness.requests[0]?.messages[0]?.parts).toMatchObject([{ type: 'text' }, { mediaType: 'image/png' }])
  })

  test('of a team emits its members as subagents', async () => {
    await open({
      agents: [{ name: 'default', members: ['other'] }],
      script: [
        {
          text: 'I ask.',
          calls: [{ id: 'd', name: 'delegate_task_to_member', arguments: '{"member":"other","task":"look"}' }],
        },
        { text: 'I have looked.' },
        { text: 'Done.' },
      ],
    })
    const { events } = await runAgUi(agent([say('Go')]))
    const started = events.find(({ type }) => type === 'SUBAGENT_STARTED')
    expect(started).toMatchObject({ name: 'other' })
    expect(events.filter(({ subagentRunId }) => subagentRunId !== undefined).map(({ type }) => type)).toEqual([
      'SUBAGENT_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'SUBAGENT_FINISHED',
    ])
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'success' } })
  })
})

describe('a waiting call', () => {
  test('of a client tool is pending, and the next run continues with its result', async () => {
    await open({
      script: [
        { text: 'Let me see.', calls: [{ id: 'c1', name: 'weather', arguments: '{"city":"Bonn"}' }] },
        { text: 'It rains.', calls: [{ id: 'c1', name: 'weather' }] },
        { text: 'Done.' },
      ],
    })
    const one = agent([say('How is the weather?')])
    for (const answer of ['rain', 'more rain']) {
      const { events } = await runAgUi(one, { tools: [weather] })
      // Clients before protocol version 1.0 reject an outcome with further fields.
      expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
      expect(Object.keys(events.at(-1)?.['outcome'] ?? {})).toEqual(['type'])
      const [toolCallId = '', ...more] = pendingCalls(one, 'weather')
      expect(more).toEqual([])
      one.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId, content: answer })
    }
    const { types } = await runAgUi(one, { tools: [weather] })
    expect(types).toEqual([
      'RUN_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ])
    expect((await log()).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ])
    expect(await expectJson(harness, 200, 'GET', '/v1/sessions/talk/runs')).toMatchObject({ data: [{ rounds: 3 }] })
  })

  test('is not created for a strict client tool whose arguments do not fit its schema', async () => {
    await open({ script: [{ calls: [{ id: 'c1', name: 'weather', arguments: '{"city":7}' }] }, { text: 'Done.' }] })
    const parameters = { type: 'object', properties: { city: { type: 'string' } } }
    const strict = { ...weather, parameters, metadata: { strict: true } }
    const { events } = await runAgUi(agent([say('How is the weather?')]), { tools: [strict] })
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'success' } })
    expect((await log()).find(({ role }) => role === 'tool')).toMatchObject({ status: 'error' })
  })

  test.each([true, false])('for an approval is an interrupt, which the next run resumes: %j', async (approved) => {
    const ran: unknown[] = []
    await open({
      tools: [makeTool('remove', async () => (ran.push(1), { text: 'removed' }), { needsApproval: true })],
      script: [{ calls: [{ id: 'c1', name: 'remove' }] }, { text: 'Gone.' }],
    })
    const one = agent([say('Remove it')])
    const { events } = await runAgUi(one)
    const { outcome } = events.at(-1) as unknown as { outcome: { type: string; interrupts: { id: string }[] } }
    expect([outcome.type, ran]).toEqual(['interrupt', []])
    const interruptId = outcome.interrupts[0]?.id ?? ''
    const resumed = await runAgUi(one, { resume: [{ interruptId, status: 'resolved', payload: { approved } }] })
    expect(ran).toHaveLength(approved ? 1 : 0)
    expect(resumed.events.find(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject({
      content: approved ? 'removed' : 'denied: the user did not allow this call',
    })
    expect(resumed.events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
  })
})

describe('an AG-UI stream that ends early', () => {
  test('is sent again from its start to a request with the same run id', async () => {
    const held = heldTurn()
    await open({ script: [held.turn] })
    const messages = [say('Think')]
    const leaving = agent(messages)
    const left = runAgUi(leaving, { runId: 'mine' }).catch(() => undefined)
    await expect.poll(() => harness.requests.length).toBe(1)
    leaving.abortRun()
    await left
    const again = runAgUi(agent(messages), { runId: 'mine' })
    held.letGo()
    expect((await again).events.at(-1)).toMatchObject({ outcome: { type: 'success' } })
    expect(harness.requests).toHaveLength(1)
    expect(await log()).toHaveLength(2)
  })

  test('ends with a cancelled outcome if its run was cancelled', async () => {
    const held = heldTurn()
    await open({ script: [held.turn] })
    const running = runAgUi(agent([say('Think')]))
    await expect.poll(() => harness.requests.length).toBe(1)
    const { data } = await expectJson<{ data: { id: string }[] }>(harness, 200, 'GET', '/v1/sessions/talk/runs')
    await expectJson(harness, 202, 'POST', `/v1/sessions/talk/runs/${data[0]?.id}/cancel`)
    expect((await running).events.at(-1)).toMatchObject({ outcome: { type: 'cancelled' } })
  })

  test('ends with an error as its last event if the model failed', async () => {
    await open({
      script: [
        async function* () {
          yield { type: 'text.delta', part: 0, text: 'Let' }
          throw new ModelError('provider_error', 'the model is gone', { retryable: false })
        },
      ],
    })
    const types: string[] = []
    const running = agent([say('Go')]).runAgent({}, { onEvent: ({ event }) => void types.push(event.type) })
    await running.catch(() => undefined)
    expect(types).toEqual([
      'RUN_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_ERROR',
    ])
  })
})
