/*
 * Half of a surrogate pair is not a character. Strict readers of JSON and UTF-8 refuse a text with such a half, and so do
 * providers. Our requests to models, our streams and our documents contain no halves, wherever a model or a client splits its
 * texts.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createModels } from '../../functions/adapters/models/models.ts'
import { PROVIDERS, WIRES } from '../adapters/models/providers.ts'
import type { Provider } from '../adapters/models/providers.ts'
import { completionOf } from '../agent/harness.ts'
import { halfCharacters } from '../e2e/half-characters.ts'
import { fc } from '../generators/seeded.ts'
import type { RecordingServer } from '../model-server/recording-server.ts'
import { startRecordingServer } from '../model-server/recording-server.ts'
import type { ScriptedCompletion } from '../model-server/scripted-completion.ts'
import { openHttpHarness } from './harness.ts'
import type { HttpHarness } from './harness.ts'

const HALF = '\ud83d'
const wires = PROVIDERS.map((provider) => [WIRES[provider.name], provider] as const)

let harness: HttpHarness

let sessions = 0
const newSession = async (): Promise<string> => {
  const id = `s${++sessions}`
  await harness.send('POST', '/v1/sessions', { id })
  return id
}

const textOf = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
  const response = await harness.send(method, path, body, headers)
  const text = await response.text()
  expect(response.status, text).toBeLessThan(300)
  return text
}

const input = { role: 'user', content: 'a' }
/** For each format: a function that starts a run and reads its stream. */
const FORMATS: { readonly [name: string]: () => Promise<string> } = {
  'our own API': async () =>
    textOf('POST', `/v1/sessions/${await newSession()}/messages`, { content: 'a' }, { accept: 'text/event-stream' }),
  'Chat Completions': () =>
    textOf('POST', '/openai/v1/chat/completions', { model: 'default', stream: true, messages: [input], user: next() }),
  Responses: () => textOf('POST', '/openai/v1/responses', { model: 'default', stream: true, input: 'a' }),
  useChat: () => {
    const messages = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'a' }] }]
    return textOf('POST', '/v1/chat', { id: next(), agent: 'default', messages })
  },
  'AG-UI': () => {
    const empty = { state: {}, context: [], forwardedProps: {}, tools: [] }
    return textOf('POST', '/v1/ag-ui/default', {
      threadId: next(),
      runId: next(),
      ...empty,
      messages: [{ id: 'm', ...input }],
    })
  },
}
const next = (): string => `n${++sessions}`

/** The texts of a stream's frames; fails for a frame that has half a character. */
function framesOf(stream: string): readonly { readonly [field: string]: unknown }[] {
  expect(halfCharacters(stream), stream).toBe(0)
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)) as { [field: string]: unknown })
}

/** Text that a stream of Chat Completions or of our own API shows. */
const shownText = (stream: string): string =>
  framesOf(stream)
    .map(({ type, text, choices }) => {
      if (type === undefined)
        return (choices as { delta?: { content?: string } }[] | undefined)?.[0]?.delta?.content ?? ''
      return typeof text === 'string' ? text : ''
    })
    .join('')

describe.each(wires)('on %s · sqlite', (_wire, provider: Provider) => {
  let server: RecordingServer
  let script: ScriptedCompletion[] = []
  let first = 0
  beforeAll(async () => {
    server = await startRecordingServer(() => ({
      headers: { 'content-type': provider.contentType },
      frames: provider.frames(script.shift() ?? { parts: [{ type: 'text', text: 'done' }] }),
    }))
    const models = createModels({ settings: provider.settings(server.url) })
    harness = await openHttpHarness({
      agents: [{ name: 'default', model: provider.model, instructions: `Be ${HALF} brief` }],
      change: (ports) => ({ ...ports, models }),
    })
  })
  beforeEach(() => void (first = server.requests.length))
  afterAll(async () => {
    await harness.close()
    await server.close()
  })

  /** Requests of this test. */
  const requests = (): RecordingServer['requests'] => server.requests.slice(first)

  const expectWholeRequests = (): void => {
    expect(requests()).not.toHaveLength(0)
    for (const { body } of requests()) expect(halfCharacters(body), body).toBe(0)
  }

  test.each(Object.keys(FORMATS))('field/16/split-pair-across-deltas: %s has a whole character', async (format) => {
    script = [{ parts: [{ type: 'text', text: 'fire 🔥 out' }], pieceSize: 6 }]
    const stream = await FORMATS[format]?.()
    expect(stream).toContain('🔥')
    framesOf(stream ?? '')
  })

  test.each(Object.keys(FORMATS))(
    'field/16/half-that-stays-alone: %s has a replacement character in place of a lone half',
    async (format) => {
      script = [{ parts: [{ type: 'text', text: `a${HALF}b \udd25${HALF}` }], pieceSize: 2 }]
      const stream = await FORMATS[format]?.()
      framesOf(stream ?? '')
      expect(stream).toContain('\ufffd')
    },
  )

  test.each([1, 3, 4])(
    'field/16/split-pair-in-arguments: arguments in pieces of %i have whole characters',
    async (pieceSize) => {
      const text = `{"fire":"🔥","half":"${HALF}"}`
      script = [{ parts: [{ type: 'tool_call', id: 'call_1', name: 'look', arguments: text }], pieceSize }]
      const session = await newSession()
      const headers = { accept: 'text/event-stream' }
      const stream = await textOf('POST', `/v1/sessions/${session}/messages`, { content: 'a' }, headers)
      const deltas = framesOf(stream).filter(({ type }) => type === 'tool_call.delta')
      expect(deltas.map((frame) => frame['arguments'] as string).join('')).toBe(text.toWellFormed())
      expectWholeRequests()
    },
  )

  test('field/17/truncated-description-and-schema: requests to the model have whole characters', async () => {
    const tool = {
      name: 'f',
      description: `Sends it ${HALF}`,
      parameters: {
        type: 'object',
        properties: { [`a${HALF}`]: { type: 'string', description: `half ${HALF}`, enum: [HALF, 'x'] } },
      },
    }
    const session = await newSession()
    await textOf('POST', `/v1/sessions/${session}/messages`, { content: `go ${HALF}`, tools: [tool] })
    expectWholeRequests()
  })

  test('field/17/half-in-the-id-of-a-call: requests to the model have whole characters', async () => {
    script = [{ parts: [{ type: 'tool_call', id: `call${HALF}`, name: 'f', arguments: '{}' }] }]
    const session = await newSession()
    const tools = [{ name: 'f', description: 'Sends it', parameters: { type: 'object' } }]
    const headers = { prefer: 'wait=30' }
    const paused = await textOf('POST', `/v1/sessions/${session}/messages`, { content: 'go', tools }, headers)
    const run = JSON.parse(paused) as { id: string; waiting: { tool_call_id: string }[] }
    expect(run.waiting).toHaveLength(1)
    const results = run.waiting.map(({ tool_call_id: id }) => ({ tool_call_id: id, output: `r${HALF}` }))
    await textOf('POST', `/v1/sessions/${session}/runs/${run.id}/tool-results`, { results }, headers)
    expect(requests()).toHaveLength(2)
    expectWholeRequests()
  })
})

describe('with any split of a model’s deltas', () => {
  const unit = fc.constantFrom('a', '\\', '😀', HALF, '\udd25', '\udbff')
  const pieces = fc.array(
    fc.array(unit, { maxLength: 3 }).map((units) => units.join('')),
    { minLength: 1, maxLength: 6 },
  )
  /** Chunks of a text, of a call's arguments, and of a text after the call. The texts are sent one UTF-16 unit at a time. */
  const deltas = fc.record({ before: pieces, args: pieces, after: pieces })
  let script: {
    readonly before: readonly string[]
    readonly args: readonly string[]
    readonly after: readonly string[]
  }

  beforeAll(async () => {
    const turn = async function* () {
      const { before, args, after } = script
      for (const text of before.flatMap((piece) => piece.split('')))
        yield { type: 'text.delta', part: 0, text } as const
      const call = { type: 'tool_call.delta', sequence: 0, toolCallId: 'c', toolName: 'look' } as const
      for (const text of args.flatMap((piece) => piece.split(''))) yield { ...call, arguments: text }
      for (const text of after.flatMap((piece) => piece.split(''))) yield { type: 'text.delta', part: 2, text } as const
      const parts = [
        { type: 'text', text: before.join('') },
        { type: 'tool_call', id: 'c' },
        { type: 'text', text: after.join('') },
      ] as const
      const toolCalls = [{ id: 'c', name: 'look', arguments: args.join('') }]
      yield { type: 'completion', completion: { ...completionOf({}), parts, toolCalls } } as const
    }
    const models = { open: async () => ({ name: 'script/ed', stream: turn }) }
    harness = await openHttpHarness({ policies: { maxRounds: 1 }, change: (ports) => ({ ...ports, models }) })
  })

  test.each(Object.keys(FORMATS))(
    'field/16/any-split · sqlite: a stream of %s has whole characters',
    async (format) => {
      await fc.assert(
        fc.asyncProperty(deltas, async (made) => {
          script = made
          const stream = (await FORMATS[format]?.()) ?? ''
          for (const frame of framesOf(stream.replaceAll(/\\\\(?:\\\\)*u/g, 'u'))) expect(frame).toBeDefined()
        }),
        { numRuns: 5 },
      )
    },
  )

  test('field/16/any-split · sqlite: deltas of our own API are the whole text', async () => {
    await fc.assert(
      fc.asyncProperty(deltas, async (made) => {
        script = made
        const stream = (await FORMATS['our own API']?.()) ?? ''
        const texts = framesOf(stream).filter(({ type }) => type === 'text.delta')
        const round = texts.filter(({ round: number }) => number === 0).map(({ text }) => text as string)
        expect(round.join('')).toBe(made.before.join('').toWellFormed() + made.after.join('').toWellFormed())
      }),
      { numRuns: 10 },
    )
  })

  test('field/16/any-text · sqlite: no document of a session has half a character', async () => {
    const session = await newSession()
    const half = { before: [`x${HALF}`], args: [`{"a":"${HALF}"}`], after: [`\udd25${HALF}`] }
    script = half
    const headers = { prefer: 'wait=30' }
    const run = JSON.parse(
      await textOf(
        'POST',
        `/v1/sessions/${session}/messages`,
        { content: `zebra ${HALF}`, metadata: { [HALF]: HALF } },
        headers,
      ),
    ) as { id: string }
    await textOf('PATCH', `/v1/sessions/${session}`, { title: `t${HALF}`, metadata: { a: HALF } })
    const at = `/v1/sessions/${session}`
    const paths = [at, `${at}/messages`, `${at}/messages?format=openai`, `${at}/context`, `${at}/export`, `${at}/runs`]
    for (const path of [
      ...paths,
      `${at}/runs/${run.id}`,
      `${at}/runs/${run.id}/events`,
      '/v1/search?q=zebra',
      '/v1/sessions',
    ]) {
      const text = await textOf('GET', path)
      expect(text.length, path).toBeGreaterThan(2)
      expect(halfCharacters(text), `${path}: ${text}`).toBe(0)
    }
    expect(shownText(await textOf('GET', `${at}/runs/${run.id}/events`))).toBeDefined()
  })
})
