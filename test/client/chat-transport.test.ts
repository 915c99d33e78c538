/* Evidence, clients: `stop()` of `useChat` cancels the run; a closed connection and a resumed page do not. */
import type { ChatInit, UIMessage, UIMessageChunk } from 'ai'
import { ChatTransport as PackagedTransport } from 'tooltrail/ai-sdk'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ChatTransport } from '../../functions/client/ai-sdk.ts'
import type { ChatTransportOptions } from '../../functions/client/ai-sdk.ts'
import { deviations } from '../http/conformance.ts'
import { expectJson, heldTurn, openHttpHarness } from '../http/harness.ts'
import type { HttpHarness } from '../http/harness.ts'
import { TestChat } from '../http/ai-sdk/client.ts'

type Fetch = typeof globalThis.fetch
interface Sent {
  readonly path: string
  readonly body: Record<string, unknown>
  readonly authorization: string | null
}

let harness: HttpHarness
/** Requests of the transport under test. */
let sent: Sent[]
beforeEach(() => (sent = []))
afterEach(() => harness.close())

/** Sends requests to the app in this process, and checks each response against the API's description. */
const toApp: Fetch = async (input, init) => {
  const request = new Request(input as string, init)
  const text = await request.clone().text()
  const body = (text === '' ? {} : JSON.parse(text)) as Sent['body']
  sent.push({ path: new URL(request.url).pathname, body, authorization: request.headers.get('authorization') })
  const response = await harness.program.app.fetch(request)
  expect(await deviations(harness.document, request, response), request.url).toEqual([])
  return response
}

const URL_OF_APP = 'http://localhost:3000/'
type Options = Partial<ChatTransportOptions>
const transportOf = (options: Options = {}) =>
  new ChatTransport({ url: URL_OF_APP, fetch: toApp, ...options } as ChatTransportOptions)

const chatOf = (init: Partial<ChatInit<UIMessage>> = {}, options: Options = {}): TestChat =>
  new TestChat({ id: 'talk', transport: transportOf(options), ...init })

const runs = async (): Promise<{ id: string; status: string }[]> =>
  (await expectJson<{ data: { id: string; status: string }[] }>(harness, 200, 'GET', '/v1/sessions/talk/runs')).data
const statuses = async (): Promise<string[]> => (await runs()).map(({ status }) => status)
const textOf = (message: UIMessage | undefined): string =>
  (message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
const paths = (): string[] => sent.map(({ path }) => path.replace(/runs\/\w+/, 'runs/R'))

/** Starts a run whose model call waits, and resolves when the chat shows its first text. */
async function startHeldRun(options: Options = {}) {
  const held = heldTurn()
  harness = await openHttpHarness({ script: [held.turn, { text: 'Next.' }] })
  const chat = chatOf({}, options)
  const sending = chat.sendMessage({ text: 'Think' })
  await expect.poll(() => textOf(chat.lastMessage)).toBe('thinking')
  return { held, chat, sending }
}

describe('the transport of useChat', () => {
  test('sends only the newest message, with the fields of the option `body`', async () => {
    harness = await openHttpHarness({ script: [{ text: 'One.' }, { text: 'Two.' }] })
    const chat = chatOf({}, { body: () => ({ agent: 'other' }) })
    await chat.sendMessage({ text: 'First' })
    await chat.sendMessage({ text: 'Second' })
    expect(chat.messages.map(textOf)).toEqual(['First', 'One.', 'Second', 'Two.'])
    expect(sent.map(({ body }) => (body['messages'] as UIMessage[]).map(textOf))).toEqual([['First'], ['Second']])
    expect(sent[0]?.body).toMatchObject({ id: 'talk', agent: 'other', sdk: 7, trigger: 'submit-message' })
  })

  test('can also be created without `new`, and is exported by the package', async () => {
    harness = await openHttpHarness({ script: [{ text: 'One.' }] })
    const chat = chatOf({ transport: PackagedTransport({ url: URL_OF_APP, fetch: toApp }) })
    await chat.sendMessage({ text: 'First' })
    expect(textOf(chat.lastMessage)).toBe('One.')
  })

  test('replaces a run when regenerate() is called or a message is edited', async () => {
    harness = await openHttpHarness({ script: [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }] })
    const chat = chatOf()
    await chat.sendMessage({ text: 'First' })
    const [input, answer] = chat.messages.map(({ id }) => id)
    await chat.regenerate({ messageId: answer ?? '' })
    expect(chat.messages.map(textOf)).toEqual(['First', 'Two.'])
    await chat.sendMessage({ text: 'Edited', messageId: input ?? '' })
    expect(chat.messages.map(textOf)).toEqual(['Edited', 'Three.'])
    const stored = await expectJson<UIMessage[]>(harness, 200, 'GET', '/v1/chat/talk')
    expect(stored.map(textOf)).toEqual(['Edited', 'Three.'])
    expect(sent.slice(1).map(({ body }) => [body['trigger'], body['messageId'], body['messages']])).toMatchObject([
      ['regenerate-message', answer, [{ id: input, parts: [{ text: 'First' }] }]],
      ['submit-message', input, [{ id: input, parts: [{ text: 'Edited' }] }]],
    ])
  })

  test('shows the detail of a refusal', async () => {
    harness = await openHttpHarness()
    const errors: string[] = []
    const chat = chatOf({ onError: ({ message }) => errors.push(message) }, { body: { agent: 'nobody' } })
    await chat.sendMessage({ text: 'Go' })
    expect([chat.status, errors]).toEqual(['error', [expect.stringContaining('nobody')]])
  })

  test('asks for the token before each request, also before a cancel', async () => {
    let authorization: string | undefined
    const token = vi.fn<() => Promise<string>>(async () => {
      authorization ??= (await harness.key()).authorization
      return authorization.replace('Bearer ', '')
    })
    const { chat, sending } = await startHeldRun({ token })
    await Promise.all([chat.stop(), sending])
    await expect.poll(paths).toEqual(['/v1/chat', '/v1/sessions/talk/runs/R/cancel'])
    expect(sent.map((one) => one.authorization)).toEqual([authorization, authorization])
    expect(token).toHaveBeenCalledTimes(2)
  })

  test('sends its key', async () => {
    harness = await openHttpHarness({ script: [{ text: 'One.' }] })
    const { authorization } = await harness.key()
    const chat = chatOf({}, { key: authorization.replace('Bearer ', '') })
    await chat.sendMessage({ text: 'Go' })
    expect([textOf(chat.lastMessage), sent[0]?.authorization]).toEqual(['One.', authorization])
  })
})

describe('stop()', () => {
  test('cancels the run, and the next message is sent after the cancel', async () => {
    const { chat, sending } = await startHeldRun()
    await Promise.all([chat.stop(), sending])
    expect(chat.status).toBe('ready')
    await chat.sendMessage({ text: 'Go on' })
    expect(textOf(chat.lastMessage)).toBe('Next.')
    expect((await statuses()).toSorted()).toEqual(['cancelled', 'completed'])
    expect(paths()).toEqual(['/v1/chat', '/v1/sessions/talk/runs/R/cancel', '/v1/chat'])
  })

  test('cancels a run whose response has not arrived yet', async () => {
    const held = heldTurn()
    harness = await openHttpHarness({ script: [held.turn] })
    const gate = Promise.withResolvers<void>()
    const late: Fetch = async (input, init) => {
      const response = await toApp(input, init)
      await gate.promise
      return response
    }
    const chat = chatOf({}, { fetch: late })
    const sending = chat.sendMessage({ text: 'Think' })
    await expect.poll(() => harness.requests.length).toBe(1)
    await Promise.all([chat.stop(), sending])
    expect([chat.status, await statuses()]).toEqual(['ready', ['running']])
    gate.resolve()
    await expect.poll(statuses).toEqual(['cancelled'])
  })

  test('cancels a run that was resumed', async () => {
    const { sending, chat } = await startHeldRun()
    const other = chatOf({ messages: chat.messages.slice(0, 1) })
    const resuming = other.resumeStream()
    await expect.poll(() => textOf(other.lastMessage)).toBe('thinking')
    await Promise.all([other.stop(), resuming])
    await sending
    await expect.poll(statuses).toEqual(['cancelled'])
  })

  test('retries a cancel that fails', async () => {
    let failures = 2
    const flaky: Fetch = async (input, init) => {
      const isCancel = new Request(input as string, init).url.endsWith('/cancel')
      return isCancel && failures-- > 0 ? new Response('down', { status: 503 }) : toApp(input, init)
    }
    const { chat, sending } = await startHeldRun({ fetch: flaky })
    await Promise.all([chat.stop(), sending])
    await expect.poll(statuses).toEqual(['cancelled'])
    expect(failures).toBe(-1)
  })

  test('reports a refused cancel as an uncaught error', async () => {
    const refusing: Fetch = async (input, init) =>
      new Request(input as string, init).url.endsWith('/cancel')
        ? new Response('not for you', { status: 403 })
        : toApp(input, init)
    const { chat, sending, held } = await startHeldRun({ fetch: refusing })
    const uncaught: unknown[] = []
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.once('uncaughtException', (error) => uncaught.push(error))
    try {
      await Promise.all([chat.stop(), sending])
      await vi.waitFor(() => expect(uncaught).toHaveLength(1))
    } finally {
      process.removeAllListeners('uncaughtException')
      for (const listener of listeners) process.on('uncaughtException', listener)
    }
    expect(String(uncaught[0])).toContain('stop() failed, and the run may continue')
    held.letGo()
    await expect.poll(statuses).toEqual(['completed'])
  })

  test('cancels nothing for a request that is refused', async () => {
    harness = await openHttpHarness()
    const gate = Promise.withResolvers<void>()
    const late: Fetch = async (input, init) => {
      const response = await toApp(input, init)
      await gate.promise
      return response
    }
    const chat = chatOf({}, { fetch: late, body: { agent: 'nobody' } })
    const sending = chat.sendMessage({ text: 'Go' })
    await expect.poll(paths).toHaveLength(1)
    await Promise.all([chat.stop(), sending])
    gate.resolve()
    await chat.sendMessage({ text: 'Go' }, { body: { agent: 'other' } })
    expect(paths()).toEqual(['/v1/chat', '/v1/chat'])
    expect(await statuses()).toEqual(['completed'])
  })
})

describe('a run continues', () => {
  test('if its stream is closed', async () => {
    const held = heldTurn()
    harness = await openHttpHarness({ script: [held.turn] })
    const messages: UIMessage[] = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Think' }] }]
    const stream = await transportOf().sendMessages({
      ...{ chatId: 'talk', messages, messageId: undefined, trigger: 'submit-message' as const },
      abortSignal: new AbortController().signal,
    })
    await stream.cancel()
    held.letGo()
    await expect.poll(statuses).toEqual(['completed'])
    expect(paths()).toEqual(['/v1/chat'])
  })

  test('if a page resumes it twice, which React does in strict mode', async () => {
    const { held, chat, sending } = await startHeldRun()
    const other = chatOf({ messages: chat.messages.slice(0, 1) })
    const resuming = [other.resumeStream(), other.resumeStream()]
    await expect.poll(() => textOf(other.lastMessage)).toBe('thinking')
    held.letGo()
    await Promise.all([...resuming, sending])
    expect(other.messages.map(textOf)).toEqual(['Think', 'thinking'])
    expect(await statuses()).toEqual(['completed'])
    expect(paths().filter((path) => path.endsWith('/cancel'))).toEqual([])
  })

  test('if the connection breaks, and the chat reports a lost connection', async () => {
    const held = heldTurn()
    harness = await openHttpHarness({ script: [held.turn] })
    const breaking: Fetch = async (input, init) => {
      const response = await toApp(input, init)
      const chunk: unknown = (await response.body?.getReader().read())?.value
      return new Response(chunk as string, response)
    }
    const ends: boolean[] = []
    const chat = chatOf({ onFinish: ({ isDisconnect }) => ends.push(isDisconnect) }, { fetch: breaking })
    await chat.sendMessage({ text: 'Think' })
    expect([chat.status, ends]).toEqual(['error', [true]])
    held.letGo()
    await expect.poll(statuses).toEqual(['completed'])
  })
})

describe('resumeStream()', () => {
  test('does nothing if no run is in progress', async () => {
    harness = await openHttpHarness()
    const chat = chatOf()
    await chat.resumeStream()
    expect([chat.status, chat.messages]).toEqual(['ready', []])
  })

  test('replays the run from its start', async () => {
    const { held, chat, sending } = await startHeldRun()
    const other = chatOf({ messages: chat.messages })
    const resuming = other.resumeStream()
    await expect.poll(() => sent.length).toBe(2)
    held.letGo()
    await Promise.all([resuming, sending])
    expect(other.messages.map(textOf)).toEqual(['Think', 'thinking'])
  })
})

test('a chunk has the type that the AI SDK expects', async () => {
  harness = await openHttpHarness({ script: [{ text: 'One.' }] })
  const messages: UIMessage[] = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Go' }] }]
  const stream = await transportOf().sendMessages({
    ...{ chatId: 'talk', messages, messageId: undefined, trigger: 'submit-message' as const },
    abortSignal: undefined,
  })
  const types: UIMessageChunk['type'][] = []
  for await (const { type } of stream) types.push(type)
  expect(types).toEqual(['start', 'start-step', 'text-start', 'text-delta', 'text-end', 'finish-step', 'finish'])
})
