/* Evidence, replay: Each provider is sent the messages that the replay rules define. */
import { fc } from '../../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import { createModels } from '../../../functions/adapters/models/models.ts'
import type { Message } from '../../../functions/domain/messages/message.ts'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import { ModelError } from '../../../functions/ports/model.ts'
import { toOpenAiMessages } from '../../../functions/log/formats/openai-format.ts'
import { replay } from '../../../functions/log/replay.ts'
import { anyLog, settledLog } from '../../generators/logs.ts'
import { requestPoints, withoutMedia } from '../../generators/request-points.ts'
import type { Provider } from './providers.ts'
import { PROVIDERS } from './providers.ts'

const RUNS = { numRuns: 150 }

function requestOf(log: readonly Message[], currentRun = 'none of them'): ModelRequest {
  return {
    messages: replay(log, { currentRun, replay: 'full' }),
    tools: [{ name: 'shell', description: 'Runs a command', parameters: { type: 'object', properties: {} } }],
    toolChoice: 'auto',
    options: {},
  }
}

/** Returns the body that the provider's real package would send. Uses no network. */
async function bodyOf(provider: Provider, request: ModelRequest): Promise<string> {
  const bodies: string[] = []
  const models = createModels({
    settings: provider.settings('http://127.0.0.1:1'),
    fetch: async (_, init) => {
      if (typeof init?.body === 'string') bodies.push(init.body)
      return new Response('{}', { status: 500 })
    },
  })
  const model = await models.open(provider.model)
  const completion = model.stream(request, new AbortController().signal)[Symbol.asyncIterator]()
  await expect(completion.next()).rejects.toBeInstanceOf(ModelError)
  return bodies.join()
}

function provider(name: string): Provider {
  const found = PROVIDERS.find((candidate) => candidate.name === name)
  if (found === undefined) throw new RangeError(`no provider ${name}`)
  return found
}

describe('for any log', () => {
  it('an OpenAI-compatible server receives exactly the bytes of format=openai (promises R6)', async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, async (log) => {
        const request = requestOf(log)
        const body = JSON.parse(await bodyOf(provider('openai-compatible'), request)) as { messages: unknown }
        expect(JSON.stringify(body.messages)).toBe(JSON.stringify(toOpenAiMessages(request.messages)))
      }),
      RUNS,
    )
  })

  it('the Responses API receives each call with its raw arguments and its output', async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, async (log) => {
        const request = requestOf(log)
        const body = JSON.parse(await bodyOf(provider('openai'), request)) as { input: Item[] }
        const calls = body.input.filter((item) => item.type === 'function_call')
        const outputs = body.input.filter((item) => item.type === 'function_call_output')
        expect(calls.map((call) => call.arguments)).toEqual(rawArguments(request))
        expect(outputs.map((output) => output.call_id)).toEqual(calls.map((call) => call.call_id))
      }),
      RUNS,
    )
  })

  it.each(['anthropic', 'bedrock'])(
    '%s receives alternating roles, unique plain ids, an answer to each call, and no blank text',
    async (name) => {
      await fc.assert(
        fc.asyncProperty(anyLog, async (log) => {
          const text = await bodyOf(provider(name), requestOf(log))
          const { messages } = JSON.parse(text) as { messages: { role: string; content: Block[] }[] }
          expect(messages.map((message) => message.role)).toEqual(
            messages.map((_, index) => (index % 2 === 0 ? 'user' : 'assistant')),
          )
          const ids = messages.flatMap((message, index) => {
            const calls = message.content.flatMap(callId)
            if (calls.length > 0) expect((messages[index + 1]?.content ?? []).flatMap(resultId)).toEqual(calls)
            return calls
          })
          expect(new Set(ids).size).toBe(ids.length)
          for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
          for (const message of messages) expect(message.content.filter(isBlank)).toEqual([])
          expect(text).not.toContain('rawInvalidInput')
        }),
        RUNS,
      )
    },
  )
})

it.each([
  ['messages', 'anthropic'],
  ['bedrock', 'bedrock'],
])(
  'field/01/repeated-ids · %s: the id of a call depends only on the call, and later rounds change no id',
  async (_, name) => {
    const turn = { runId: 'r', agent: 'default', createdAt: 0 } as const
    const input: Message = { ...turn, id: 'm0', role: 'user', round: 0, parts: [{ type: 'text', text: 'go' }] }
    const round = (count: number, id: string): Message[] => [
      {
        ...{ ...turn, id: `m${count}`, role: 'assistant', round: count, parts: [{ type: 'tool_call', id }] },
        toolCalls: [{ id, name: 'shell', arguments: '{}' }],
      },
      {
        ...{ ...turn, id: `m${count}r`, role: 'tool', round: count, toolCallId: id, toolName: 'shell', sequence: 0 },
        ...{
          assistantMessageId: `m${count}`,
          generation: 1,
          status: 'completed',
          call: 'shell()',
          parts: [{ type: 'text', text: 'ok' }],
        },
      },
    ]
    const idsOf = async (...ids: readonly string[]): Promise<string[]> => {
      const log = [input, ...ids.flatMap((id, index) => round(index + 1, id))]
      const { messages } = JSON.parse(await bodyOf(provider(name), requestOf(log))) as {
        messages: { content: Block[] }[]
      }
      return messages.flatMap((message) => message.content.flatMap(callId))
    }
    const all = await idsOf('call_0', 'call.0', 'call_0', 'call_0', 'call_0_2')
    expect(new Set(all).size).toBe(5)
    expect([all[0], all[4]]).toEqual(['call_0', 'call_0_2'])
    expect(await idsOf('call_0', 'call.0', 'call_0')).toEqual(all.slice(0, 3))
    // The id of a call does not depend on the call before it.
    expect((await idsOf('other', 'call.0'))[1]).toBe(all[1])
    expect((await idsOf('call_0', 'other', 'call_0'))[2]).toBe(all[2])
  },
)

it.each(['anthropic', 'bedrock'])(
  '%s receives a result that quotes malformed arguments, for every outcome of the call',
  async (name) => {
    const call = { id: 'c', name: 'shell', arguments: 'not json' }
    const body = await bodyOf(provider(name), {
      messages: [
        { role: 'user', parts: [{ type: 'text', text: 'go' }] },
        { role: 'assistant', parts: [{ type: 'tool_call', ...call }] },
        { role: 'tool', toolCallId: 'c', toolName: 'shell', isError: false, parts: [{ type: 'text', text: 'fine' }] },
      ],
      tools: [{ name: 'shell', description: '', parameters: { type: 'object', properties: {} } }],
      toolChoice: 'auto',
      options: {},
    })
    // The package for Bedrock has no way to mark a result as an error.
    if (name === 'anthropic') expect(body).toContain('"is_error":true')
    expect(body).toMatch(/not json[^"]*fine/)
    expect(body).toMatch(/"input":\{\}/)
  },
)

describe.each(PROVIDERS)('for any session with $name', (sentTo) => {
  it('no request contains a lone surrogate, because providers refuse such a request', async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, async (log) => {
        const request = { ...requestOf(log), instructions: 'Be \ud83d brief' }
        JSON.parse(await bodyOf(sentTo, request), (_, value: unknown) => {
          if (typeof value === 'string') expect(value.isWellFormed()).toBe(true)
        })
      }),
      { numRuns: 60 },
    )
  })

  it('each request begins with the bytes of the previous one (promises R5)', async () => {
    await fc.assert(
      fc.asyncProperty(settledLog, async (log) => {
        const requests = requestPoints(log.map(withoutMedia))
          .map((point) => requestOf(point.log, point.currentRun))
          .filter(({ messages }) => messages.at(-1)?.role !== 'assistant')
        const sent = await Promise.all(requests.map(async (request) => blocksOf(await bodyOf(sentTo, request))))
        for (const [index, blocks] of sent.entries()) {
          const later = sent[index + 1]
          if (later !== undefined) expect(later.slice(0, blocks.length)).toEqual(blocks)
        }
      }),
      { numRuns: 60 },
    )
  })
})

/** Returns the contents of a body, in order. The packages merge adjacent messages of one role. */
function blocksOf(body: string): string[] {
  const { messages, input } = JSON.parse(body) as { messages?: readonly Sent[]; input?: readonly Sent[] }
  return (messages ?? input ?? []).flatMap((one) =>
    one.role === 'user' && Array.isArray(one.content)
      ? one.content.map((block) => JSON.stringify([one.role, block]))
      : [JSON.stringify(one)],
  )
}

interface Sent {
  readonly role?: string
  readonly content?: unknown
}

interface Item {
  readonly type?: string
  readonly call_id?: string
  readonly arguments?: string
}
/** A content block, with the fields of both APIs. */
interface Block {
  readonly type?: string
  readonly id?: string
  readonly tool_use_id?: string
  readonly text?: string
  readonly toolUse?: { readonly toolUseId: string }
  readonly toolResult?: { readonly toolUseId: string }
}

const callId = (block: Block): string[] => {
  const id = block.type === 'tool_use' ? block.id : block.toolUse?.toolUseId
  return id === undefined ? [] : [id]
}
const resultId = (block: Block): string[] => {
  const id = block.tool_use_id ?? block.toolResult?.toolUseId
  return id === undefined ? [] : [id]
}
const isBlank = (block: Block): boolean => block.text !== undefined && block.text.trim() === ''

function rawArguments(request: ModelRequest): string[] {
  return request.messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.parts.flatMap((part) => (part.type === 'tool_call' ? [part.arguments] : []))
      : [],
  )
}
