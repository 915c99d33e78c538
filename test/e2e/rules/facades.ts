import { HttpAgent } from '@ag-ui/client'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from 'ai'
import type { UIMessage } from 'ai'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startModel } from '../../deployed/model-script.ts'
import { PNG } from '../../fixtures/png.ts'
import { TestChat } from '../../http/ai-sdk/client.ts'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import type { Backend, Place } from '../backend/backend.ts'
import type { Client, Page } from '../backend/client.ts'
import type { RunningProgram } from '../backend/program.ts'
import { startProgram } from '../backend/program.ts'

/** A program with clients of other formats over HTTP. */
export interface Served {
  readonly client: Client
  /** Absent if the program needs no key. OpenAI's package always needs a key, so it gets a placeholder. */
  readonly key?: string
  /** Ends the serving processes and starts new ones. */
  renew(): Promise<void>
}

const TIME = 'what time is it in Europe/Berlin'
const QUESTION = '{"question":"Now?"}'
const ASK = `use ask_boss with ${QUESTION}`
const parameters = { type: 'object', properties: {} }
const BOSS = { name: 'ask_boss', description: 'Asks the boss.', parameters }

const openAi = ({ client, key }: Served): OpenAI =>
  new OpenAI({ baseURL: `${client.url}/openai/v1`, apiKey: key ?? 'made-up' })
const bearer = ({ key }: Served): Record<string, string> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` }

/** A short form of a session's log. */
async function rolesOf({ client }: Served, session: string): Promise<string> {
  return (await client.messages(session)).map(({ role }) => role).join(' ')
}

/**
 * Features of each format, with the real packages over real HTTP. The tests call `served` before each request, because another
 * program may serve the address by then.
 */
export function declareFacades(served: () => Served): void {
  test('a Chat Completions conversation without a session name remains one session across processes, with tools, images and errors', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = []
    const sessions = new Set<string | null>()
    const tools = [{ type: 'function' as const, function: BOSS }]
    async function say(content: OpenAI.ChatCompletionUserMessageParam['content']): Promise<string> {
      messages.push({ role: 'user', content })
      return complete()
    }
    async function complete(): Promise<string> {
      const body = { model: 'default', messages, tools, user: 'page' }
      const { data, response } = await openAi(served()).chat.completions.create(body).withResponse()
      sessions.add(response.headers.get('x-session-id'))
      const message = data.choices[0]?.message
      if (message === undefined) throw new Error('no message')
      messages.push(message)
      expect(data.usage?.total_tokens).toBeGreaterThan(0)
      return message.content ?? ''
    }
    expect(await say(TIME)).toContain(':')
    await served().renew()
    await say(ASK)
    const [call] = (messages.at(-1) as OpenAI.ChatCompletionAssistantMessageParam).tool_calls ?? []
    expect(call).toMatchObject({ function: { name: 'ask_boss' } })
    messages.push({ role: 'tool', tool_call_id: call?.id ?? '', content: 'Yes.' })
    await served().renew()
    expect(await complete()).toContain('Yes.')
    const image = { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${PNG}` } }
    await say([{ type: 'text', text: TIME }, image])
    expect(sessions.size).toBe(1)
    const stream = openAi(served()).chat.completions.stream({
      model: 'default',
      messages: [{ role: 'user', content: TIME }],
    })
    expect(await stream.finalContent()).toContain(':')
    await expect(openAi(served()).chat.completions.create({ model: 'nobody', messages })).rejects.toMatchObject({
      status: 404,
    })
  })

  test('Responses are streamed, continued across processes, read from the middle, branched, run in the background and cancelled', async () => {
    const first = await openAi(served()).responses.stream({ model: 'default:calls', input: TIME }).finalResponse()
    expect(first).toMatchObject({ status: 'completed', usage: { total_tokens: expect.any(Number) as number } })
    expect(first.output.map(({ type }) => type).slice(-3)).toEqual(['function_call', 'function_call_output', 'message'])
    await served().renew()
    const tools = [{ type: 'function' as const, ...BOSS, strict: false }]
    const asked = await openAi(served()).responses.create({
      model: 'default',
      input: ASK,
      tools,
      previous_response_id: first.id,
    })
    const call = asked.output.at(-1)
    if (call?.type !== 'function_call') throw new Error('no call')
    await served().renew()
    const output = [{ type: 'function_call_output' as const, call_id: call.call_id, output: 'Yes.' }]
    const answer = { model: 'default', input: output, previous_response_id: asked.id }
    const answered = await openAi(served()).responses.create(answer)
    expect([answered.id, answered.output_text.includes('Yes.')]).toEqual([`${asked.id}.1`, true])
    expect(await openAi(served()).responses.create(answer)).toEqual(answered)
    const branch = await openAi(served()).responses.create({
      model: 'default',
      input: TIME,
      previous_response_id: first.id,
    })
    expect([answered.conversation, branch.conversation?.id === first.conversation?.id]).toEqual([
      first.conversation,
      false,
    ])
    const items: string[] = []
    for await (const { type } of openAi(served()).conversations.items.list(first.conversation?.id ?? '', { limit: 3 }))
      items.push(type)
    expect(items.filter((type) => type === 'function_call')).toHaveLength(2)
    let last = 0
    let text = ''
    for await (const event of await openAi(served()).responses.retrieve(answered.id, { stream: true }))
      if (event.type === 'response.output_text.delta') last ||= event.sequence_number
    for await (const event of await openAi(served()).responses.retrieve(answered.id, {
      stream: true,
      starting_after: last - 1,
    }))
      if (event.type === 'response.output_text.delta') text += event.delta
    expect(answered.output_text.endsWith(text) && text !== '').toBe(true)
    const long = await openAi(served()).responses.create({
      model: 'default',
      input: 'work 9 rounds of 700 ms',
      background: true,
    })
    expect(['queued', 'in_progress']).toContain(long.status)
    await openAi(served()).responses.cancel(long.id)
    await expect.poll(async () => (await openAi(served()).responses.retrieve(long.id)).status).toBe('cancelled')
  })

  test('a Response keeps its input, its deletion and appended items across processes', async () => {
    const client = (): OpenAI => openAi(served())
    const first = await client().responses.create({ model: 'default', input: TIME })
    const conversation = first.conversation?.id ?? ''
    await served().renew()
    const { data: input } = await client().responses.inputItems.list(first.id)
    expect(input).toMatchObject([{ role: 'user', content: [{ text: TIME }] }])
    const item = first.output.at(-1)?.id ?? ''
    expect(await client().conversations.items.retrieve(item, { conversation_id: conversation })).toMatchObject({
      id: item,
    })
    const items = [{ role: 'user', content: 'Noted.' }] as const
    const options = { headers: { 'idempotency-key': `${conversation}-items` } }
    const added = await client().conversations.items.create(conversation, { items: [...items] }, options)
    await client().conversations.update(conversation, { metadata: { topic: 'time' } })
    await client().responses.delete(first.id)
    await served().renew()
    expect(await client().conversations.items.create(conversation, { items: [...items] }, options)).toEqual(added)
    expect(await client().conversations.retrieve(conversation)).toMatchObject({ metadata: { topic: 'time' } })
    await expect(client().responses.retrieve(first.id)).rejects.toMatchObject({ status: 404 })
    const reference = { type: 'item_reference', id: item } as const
    const next = { model: 'default', input: [reference, { role: 'user', content: TIME }], conversation } as const
    expect(await client().responses.create({ ...next, input: [...next.input] })).toMatchObject({ status: 'completed' })
    expect(await rolesOf(served(), conversation)).toBe(
      'user assistant tool assistant user user assistant tool assistant',
    )
    await client().conversations.delete(conversation)
    await served().renew()
    await expect(client().conversations.retrieve(conversation)).rejects.toMatchObject({ status: 404 })
  })

  test('useChat receives steps, its own tools and the stored messages, across processes', async () => {
    const id = `chat-${crypto.randomUUID()}`
    const chat = (messages: UIMessage[]): TestChat => {
      const api = `${served().client.url}/v1/chat`
      const transport = new DefaultChatTransport({ api, headers: bearer(served()), body: { sdk: 7, tools: [BOSS] } })
      return new TestChat({
        id,
        messages,
        transport,
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      })
    }
    let one = chat([])
    await one.sendMessage({ text: TIME })
    expect([one.status, one.messages.length]).toEqual(['ready', 2])
    await served().renew()
    one = chat(one.messages)
    await one.sendMessage({ text: ASK })
    const part = one.lastMessage?.parts.find(({ type }) => type === 'dynamic-tool')
    if (part?.type !== 'dynamic-tool') throw new Error('no call')
    await served().renew()
    one = chat(one.messages)
    const { toolName: tool, toolCallId } = part
    await one.addToolOutput({ tool: tool as never, toolCallId, output: 'Yes.' as never })
    await expect.poll(() => JSON.stringify(one.lastMessage)).toContain('said: Yes.')
    const read = await served().client.get<UIMessage[]>(`/v1/chat/${id}`)
    expect(read.map(({ role }) => role)).toEqual(one.messages.map(({ role }) => role))
    expect(await rolesOf(served(), id)).toBe('user assistant tool assistant user assistant tool assistant')
  })

  test('AG-UI completes a run, its own tools, and the next run of the thread, across processes', async () => {
    const threadId = `thread-${crypto.randomUUID()}`
    const agent = (): HttpAgent =>
      new HttpAgent({ url: `${served().client.url}/v1/ag-ui/default`, headers: bearer(served()), threadId })
    const say = (content: string) => ({ id: crypto.randomUUID(), role: 'user' as const, content })
    let one = agent()
    one.addMessage(say(TIME))
    await one.runAgent()
    await served().renew()
    const { messages } = one
    one = agent()
    one.setMessages([...messages, say(ASK)])
    await one.runAgent({ tools: [BOSS] })
    const asked = one.messages.at(-1)
    const call = asked?.role === 'assistant' ? asked.toolCalls?.[0] : undefined
    expect(call?.function.name).toBe('ask_boss')
    one.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: call?.id ?? '', content: 'Yes.' })
    await one.runAgent({ tools: [BOSS] })
    expect(JSON.stringify(one.messages.at(-1))).toContain('Yes.')
    expect(await rolesOf(served(), threadId)).toBe('user assistant tool assistant user assistant tool assistant')
  })
}

/** Tests the formats of other clients while the program's processes are replaced. */
export const facadesOn = (backend: Backend) =>
  describe(`clients of other formats, on ${backend.name}`, { timeout: 60_000 * backend.slower }, () => {
    let place: Place
    let model: OpenAiServer
    let program: RunningProgram

    beforeAll(async () => {
      model = await startModel()
      place = await backend.open()
      program = await start()
    })
    afterAll(async () => {
      await program?.kill()
      await place?.remove()
      await model?.close()
    })

    const start = (): Promise<RunningProgram> =>
      startProgram({ env: { ...place.env, MODEL: 'scripted', MODEL_BASE_URL: model.baseUrl } })

    declareFacades(() => ({
      client: program.client,
      async renew() {
        await program.kill('SIGTERM')
        program = await start()
      },
    }))

    test('a Chat Completions turn received by a killed process remains one turn, however often it is repeated', async () => {
      const session = `killed-${crypto.randomUUID()}`
      const messages = [{ role: 'user' as const, content: 'work 9 rounds of 700 ms' }]
      const create = (retries: number): Promise<Response> =>
        openAi({ client: program.client, renew: () => Promise.resolve() })
          .chat.completions.create(
            { model: 'default', messages, stream: true },
            { headers: { 'x-session-id': session, 'x-stainless-retry-count': String(retries) } },
          )
          .asResponse()
      const broken = create(0)
        .then((response) => response.text())
        .catch(() => 'broken')
      await expect.poll(() => isRunning(session)).toBe(true)
      await program.kill()
      await broken
      program = await start()
      // The run would continue after the killed process's lease expires. This test does not wait so long.
      const both = await Promise.all([create(1), create(2)])
      const runs = both.map(({ headers }) => headers.get('x-run-id'))
      for (const { body } of both) await body?.cancel()
      expect(runs[0]).toBe(runs[1])
      const log = await program.client.messages(session)
      expect(log.filter(({ role }) => role === 'user')).toHaveLength(1)
      const { data } = await program.client.get<Page<{ id: string }>>(`/v1/sessions/${session}/runs`)
      expect(data.map(({ id }) => id)).toEqual([runs[0]])
    })

    const isRunning = async (session: string): Promise<boolean> => {
      const { status, body } = await program.client.send('GET', `/v1/sessions/${session}`)
      return status === 200 && JSON.stringify(body).includes('"running"')
    }

    test('create only the sessions that they requested', async () => {
      const { data } = await program.client.get<Page<{ id: string }>>('/v1/sessions?limit=100')
      expect(data).toHaveLength(8)
    })
  })
