/* Evidence, clients: `useChat` works: steps, tools, approvals, images, errors and reconnecting. */
/* Evidence, clients: In each format, members' work and waiting approvals are shown as the format's table describes. */
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  readUIMessageStream,
} from 'ai'
import type { ChatInit, UIMessage } from 'ai'
import { afterEach, describe, expect, test } from 'vitest'
import { ModelError } from '../../../functions/ports/model.ts'
import { completionOf, makeTool } from '../../agent/harness.ts'
import { PNG } from '../../fixtures/png.ts'
import { expectJson, heldTurn, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { chatTransport, TestChat } from './client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const open = async (options: Parameters<typeof openHttpHarness>[0] = {}): Promise<void> => {
  harness = await openHttpHarness(options)
}
const weather = { name: 'weather', description: '', parameters: { type: 'object' } }

function chat(init: Partial<ChatInit<UIMessage>> & { readonly body?: object } = {}): TestChat {
  const { body, ...rest } = init
  return new TestChat({
    id: 'talk',
    transport: chatTransport(harness, body),
    onError: (error) => {
      throw error
    },
    ...rest,
  })
}

const stored = async (): Promise<UIMessage[]> => expectJson(harness, 200, 'GET', '/v1/chat/talk')
/** Removes the fields that only streams have. */
const plain = (messages: readonly UIMessage[]): unknown =>
  JSON.parse(
    JSON.stringify(messages, (key, value: unknown) =>
      key === 'id' || key === 'rawInput' || key === 'approval' ? undefined : value,
    ),
  )
const log = async (): Promise<Record<string, unknown>[]> =>
  (await expectJson<{ data: Record<string, unknown>[] }>(harness, 200, 'GET', '/v1/sessions/talk/messages')).data

describe('a message', () => {
  test('is answered by a stream of one UIMessage: reasoning, texts, our tools as steps, and usage', async () => {
    await open({
      tools: [makeTool('look', async () => ({ text: 'seen', sources: [{ title: 'A', url: 'https://a.example' }] }))],
      script: [
        async function* () {
          yield { type: 'reasoning.delta', part: 0, text: 'Hm.' }
          const call = { id: 'c1', name: 'look', arguments: '{"at":1}' }
          const completion = completionOf({ text: 'Let me look.', calls: [call], tokens: 3 })
          const parts = [{ type: 'reasoning' as const, text: 'Hm.' }, ...completion.parts]
          yield { type: 'completion', completion: { ...completion, parts } }
        },
        { text: 'It is here.', calls: [{ id: 'c1', name: 'look', arguments: '{"at":' }] },
        { text: 'Done.' },
      ],
    })
    const one = chat()
    await one.sendMessage({ text: 'Where?' })
    const [, message] = one.messages
    // A result may be stored and emitted while the next round already streams.
    const isSource = ({ type }: { type: string }): boolean => type === 'source-url'
    const withoutSources = (whole: UIMessage) => ({ ...whole, parts: whole.parts.filter((part) => !isSource(part)) })
    expect(message?.parts.filter(isSource)).toMatchObject([{ url: 'https://a.example', title: 'A' }])
    expect(message && withoutSources(message)).toMatchObject({
      role: 'assistant',
      metadata: { run_id: message?.id, usage: { total_tokens: 23 } },
      parts: [
        { type: 'step-start' },
        { type: 'reasoning', text: 'Hm.', state: 'done' },
        { type: 'text', text: 'Let me look.', state: 'done' },
        {
          type: 'dynamic-tool',
          toolName: 'look',
          toolCallId: 'c1',
          providerExecuted: true,
          state: 'output-available',
          input: { at: 1 },
          output: 'seen',
        },
        { type: 'step-start' },
        { type: 'text', text: 'It is here.' },
        { type: 'dynamic-tool', toolCallId: 'c1~1', state: 'output-error', input: '{"at":' },
        { type: 'step-start' },
        { type: 'text', text: 'Done.' },
      ],
    })
    expect(plain((await stored()).map(withoutSources))).toEqual(plain(one.messages.map(withoutSources)))
  })

  test('continues in its session; only the last message is stored, and a repeated request starts no second run', async () => {
    await open({ script: [{ text: 'One.' }, { text: 'Two.' }] })
    const one = chat()
    await one.sendMessage({ text: 'First' })
    const other = chat({ messages: [{ id: 'x', role: 'user', parts: [{ type: 'text', text: 'made up' }] }] })
    const again = { id: 'm2', role: 'user' as const, parts: [{ type: 'text' as const, text: 'Second' }] }
    await other.sendMessage(again)
    await chat({ messages: [] }).sendMessage(again)
    expect((await log()).map(({ parts }) => (parts as { text: string }[])[0]?.text)).toEqual([
      'First',
      'One.',
      'Second',
      'Two.',
    ])
    expect(harness.requests).toHaveLength(2)
  })

  test('may contain an image', async () => {
    await open()
    const files = [
      { type: 'file' as const, mediaType: 'image/png', filename: 'dot.png', url: `data:image/png;base64,${PNG}` },
    ]
    await chat().sendMessage({ text: 'What is it?', files })
    const sent = harness.requests[0]?.messages[0]?.parts
    expect(sent).toMatchObject([{ type: 'image', mediaType: 'image/png', filename: 'dot.png' }, { type: 'text' }])
    const [shown] = await stored()
    expect(shown?.parts).toMatchObject([
      { type: 'file', mediaType: 'image/png', filename: 'dot.png' },
      { type: 'text' },
    ])
  })
})

describe('tools in a chat', () => {
  test('of the client are called and answered, and the run continues in one message', async () => {
    await open({
      script: [
        { text: 'Let me see.', calls: [{ id: 'c1', name: 'weather', arguments: '{"city":"Bonn"}' }] },
        { text: 'It rains.' },
      ],
    })
    const called: unknown[] = []
    const done = Promise.withResolvers<void>()
    const one = chat({
      body: { tools: [weather] },
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall }) => {
        called.push(toolCall.input)
        void one.addToolOutput({
          tool: toolCall.toolName as never,
          toolCallId: toolCall.toolCallId,
          output: { sky: 'rain' } as never,
        })
      },
      onFinish: ({ message }) => {
        if (JSON.stringify(message.parts).includes('It rains.')) done.resolve()
      },
    })
    await one.sendMessage({ text: 'How is the weather?' })
    await done.promise
    expect(called).toEqual([{ city: 'Bonn' }])
    expect(one.messages).toHaveLength(2)
    expect(one.messages[1]?.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'Let me see.' },
      { type: 'dynamic-tool', toolCallId: 'c1', state: 'output-available', output: { sky: 'rain' } },
      { type: 'step-start' },
      { type: 'text', text: 'It rains.' },
    ])
    expect((await log()).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    const [, whole] = await stored()
    expect(whole?.parts).toHaveLength(5)
  })

  test('of the agent run only after their approval, if they need one', async () => {
    const ran: unknown[] = []
    await open({
      tools: [makeTool('remove', async () => (ran.push(1), { text: 'removed' }), { needsApproval: true })],
      script: [{ calls: [{ id: 'c1', name: 'remove' }] }, { text: 'Gone.' }],
    })
    const done = Promise.withResolvers<void>()
    const one = chat({
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      onFinish: ({ message }) => {
        if (JSON.stringify(message.parts).includes('Gone.')) done.resolve()
      },
    })
    await one.sendMessage({ text: 'Remove it' })
    const [, asked] = one.messages
    const part = asked?.parts.find(({ type }) => type === 'dynamic-tool') as { state: string; approval: { id: string } }
    expect([part.state, ran]).toEqual(['approval-requested', []])
    expect((await stored())[1]?.parts).toMatchObject([{ type: 'step-start' }, { state: 'approval-requested' }])
    await one.addToolApprovalResponse({ id: part.approval.id, approved: true })
    await done.promise
    expect(ran).toEqual([1])
    expect(one.messages[1]?.parts).toMatchObject([
      { type: 'step-start' },
      { state: 'output-available', output: 'removed' },
      { type: 'step-start' },
      { type: 'text', text: 'Gone.' },
    ])
  })
})

describe('an interrupted chat stream', () => {
  test('is resumed from the start of its run, and 204 means that no run is in progress', async () => {
    const held = heldTurn()
    await open({ script: [held.turn] })
    const transport = chatTransport(harness)
    expect(await transport.reconnectToStream({ chatId: 'talk' })).toBeNull()
    const leaving = new AbortController()
    const messages: UIMessage[] = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Think' }] }]
    const request = { chatId: 'talk', messages, messageId: undefined, trigger: 'submit-message' as const }
    const stream = await transport.sendMessages({ ...request, abortSignal: leaving.signal })
    for await (const chunk of stream) if (chunk.type === 'text-delta') break
    leaving.abort()
    const resumed = await transport.reconnectToStream({ chatId: 'talk' })
    if (resumed === null) throw new Error('nothing to resume')
    held.letGo()
    let last: UIMessage | undefined
    for await (const message of readUIMessageStream({ stream: resumed })) last = message
    expect(last?.parts).toMatchObject([{ type: 'step-start' }, { type: 'text', text: 'thinking', state: 'done' }])
    expect(await transport.reconnectToStream({ chatId: 'talk' })).toBeNull()
    expect(harness.requests).toHaveLength(1)
  })

  test('resumes the run in progress, not a queued input', async () => {
    const held = heldTurn()
    await open({ script: [held.turn, { text: 'second' }] })
    const leaving = new AbortController()
    const transport = chatTransport(harness)
    const messages: UIMessage[] = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Think' }] }]
    const request = { chatId: 'talk', messages, messageId: undefined, trigger: 'submit-message' as const }
    const stream = await transport.sendMessages({ ...request, abortSignal: leaving.signal })
    for await (const chunk of stream) if (chunk.type === 'text-delta') break
    leaving.abort()
    const behind = { content: 'And then?', on_busy: 'queue' }
    await expectJson(harness, 202, 'POST', '/v1/sessions/talk/messages', behind, { prefer: 'wait=0' })
    const resumed = await transport.reconnectToStream({ chatId: 'talk' })
    held.letGo()
    let last: UIMessage | undefined
    for await (const message of readUIMessageStream({ stream: resumed ?? new ReadableStream() })) last = message
    expect(last?.parts).toMatchObject([{ type: 'step-start' }, { type: 'text', text: 'thinking' }])
  })

  test('shows only the new attempt of a retried round', async () => {
    await open({
      script: [
        async function* () {
          yield { type: 'text.delta', part: 0, text: 'Half a ' }
          throw new ModelError('network', 'broken', { retryable: true })
        },
        { text: 'Whole.' },
      ],
    })
    const one = chat()
    await one.sendMessage({ text: 'Go' })
    expect(one.messages[1]?.parts).toMatchObject([{ type: 'step-start' }, { type: 'text', text: 'Whole.' }])
  })
})

describe('a failed or cancelled chat', () => {
  test('reports an error of the model', async () => {
    await open({
      script: [
        async function* () {
          yield { type: 'text.delta', part: 0, text: 'Let' }
          throw new ModelError('provider_error', 'the model is gone', { retryable: false })
        },
      ],
    })
    const errors: string[] = []
    await chat({ onError: (error) => errors.push(error.message) }).sendMessage({ text: 'Go' })
    expect(errors).toEqual(['the model is gone'])
  })

  test('ends its message when the run is cancelled', async () => {
    const held = heldTurn()
    await open({ script: [held.turn] })
    const one = chat()
    const sending = one.sendMessage({ text: 'Go' })
    await expect.poll(() => harness.requests.length).toBe(1)
    const { data } = await expectJson<{ data: { id: string }[] }>(harness, 200, 'GET', '/v1/sessions/talk/runs')
    await expectJson(harness, 202, 'POST', `/v1/sessions/talk/runs/${data[0]?.id}/cancel`)
    await sending
    expect(one.status).toBe('ready')
  })
})
