import { afterEach, expect, it } from 'vitest'
import { createModels } from '../../functions/adapters/models/models.ts'
import type { Completion } from '../../functions/ports/model.ts'
import type { OpenAiServer, OpenAiStep } from './openai-server.ts'
import { startOpenAiServer } from './openai-server.ts'

let server: OpenAiServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

async function ask(words: string): Promise<Completion> {
  const models = createModels({ settings: { server: { baseUrl: server?.baseUrl ?? '' } } })
  const model = await models.open('scripted')
  const request = {
    messages: [{ role: 'user' as const, parts: [{ type: 'text' as const, text: words }] }],
    tools: [],
    toolChoice: 'auto' as const,
    options: {},
  }
  for await (const event of model.stream(request, new AbortController().signal)) {
    if (event.type === 'completion') return event.completion
  }
  throw new Error('no completion')
}

it('the server replays a recorded assistant message with exact arguments, and records its requests', async () => {
  const recorded = {
    role: 'assistant',
    content: 'Let me see.',
    tool_calls: [{ id: 'call_1', function: { name: 'shell', arguments: ' {"cmd" : "ls"' } }],
  } as const
  server = await startOpenAiServer([{ completion: recorded }])
  const completion = await ask('go')
  expect(completion.parts).toEqual([
    { type: 'text', text: 'Let me see.' },
    { type: 'tool_call', id: 'call_1' },
  ])
  expect(completion.toolCalls).toEqual([{ id: 'call_1', name: 'shell', arguments: ' {"cmd" : "ls"' }])
  expect(server.bodies()[0]?.messages).toEqual([{ role: 'user', content: 'go' }])
})

it('the server chooses its completion by the request', async () => {
  server = await startOpenAiServer(({ messages }): OpenAiStep => {
    return { completion: { role: 'assistant', content: `you sent ${messages.length}` } }
  })
  expect((await ask('hello')).parts).toEqual([{ type: 'text', text: 'you sent 1' }])
})

it('the script lets the server refuse a request or break off a completion; requests after its end fail', async () => {
  const completion = { role: 'assistant', content: 'a long answer' } as const
  server = await startOpenAiServer([
    { status: 429, headers: { 'retry-after': '2' } },
    { completion, cutAfter: 2 },
  ])
  await expect(ask('1')).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 2_000 })
  await expect(ask('2')).rejects.toMatchObject({ code: 'network', retryable: true })
  await expect(ask('3')).rejects.toThrow('no step 2')
})
