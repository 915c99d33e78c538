import { deflateRawSync } from 'node:zlib'
import { fc } from '../../../generators/seeded.ts'
import { describe, expect, test } from 'vitest'
import {
  decodeBody,
  encodeBody,
  isSameMessage,
  type MessageColumns,
} from '../../../../functions/adapters/sqlite/log/messages/message-codec.ts'
import { openDatabase } from '../../../../functions/adapters/sqlite/database.ts'
import { findMessage, insertMessage } from '../../../../functions/adapters/sqlite/log/messages/message-rows.ts'
import { insertRun } from '../../../../functions/adapters/sqlite/log/runs/run-rows.ts'
import { pack, unpack } from '../../../../functions/adapters/sqlite/log/messages/packed-text.ts'
import { nextId, timeOfId } from '../../../../functions/domain/ids.ts'
import type { JsonObject } from '../../../../functions/domain/json.ts'
import type {
  AssistantMessage,
  Message,
  ToolMessage,
  UserMessage,
} from '../../../../functions/domain/messages/message.ts'
import { NO_USAGE } from '../../../../functions/domain/usage/usage.ts'

/** Any UTF-16 text, including lone surrogates and NUL. Some texts are long. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 }).map((units) => String.fromCharCode(...units)),
  fc.string({ unit: 'binary' }).map((piece) => `${piece}long `.repeat(400)),
)
const tokens = fc.option(fc.nat(), { nil: null })
const json = fc.dictionary(text, fc.jsonValue()) as fc.Arbitrary<JsonObject>
const provider = fc.dictionary(fc.string(), json)

/** Converts a value to JSON and back, as the store does. JSON changes -0 to 0, and objects get a prototype. */
function asStored(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown
}
const all = { requiredKeys: [] as never[] }

const textPart = fc.record({ type: fc.constant('text'), text, provider }, { requiredKeys: ['type', 'text'] })
const notePart = fc.record({ type: fc.constant('note'), text })
const mediaPart = fc.record(
  { type: fc.constantFrom('image', 'file'), id: text, mediaType: text, filename: text, bytes: fc.nat() },
  { requiredKeys: ['type', 'id', 'mediaType', 'bytes'] },
)
const usage = fc.record(
  {
    inputTokens: tokens,
    cachedInputTokens: tokens,
    cacheWriteTokens: tokens,
    outputTokens: tokens,
    reasoningTokens: tokens,
    totalTokens: tokens,
    provider: json,
  },
  {
    requiredKeys: [
      'inputTokens',
      'cachedInputTokens',
      'cacheWriteTokens',
      'outputTokens',
      'reasoningTokens',
      'totalTokens',
    ],
  },
)
const time = fc.integer({ min: 0, max: 4_000_000_000_000 })
const id = time.map((now) => nextId(undefined, now))
const base = fc
  .record({ id, agent: text, round: fc.nat(), createdAt: fc.option(time, { nil: undefined }) })
  .map(({ createdAt, ...rest }) => ({ ...rest, runId: '', createdAt: createdAt ?? timeOfId(rest.id) }))
const parent = fc.record({ parentToolCallId: text }, all)

const join = (parts: fc.Arbitrary<object>[]): fc.Arbitrary<object> =>
  fc.tuple(...parts).map((pieces) => Object.assign({}, ...pieces) as object)

const userMessage = join([
  base,
  parent,
  fc.record({ role: fc.constant('user'), parts: fc.array(fc.oneof(textPart, notePart, mediaPart), { maxLength: 3 }) }),
  fc.record({ user: text, metadata: json }, all),
]) as fc.Arbitrary<UserMessage>

const toolCall = fc.record(
  { id: text, name: text, arguments: text, provider },
  { requiredKeys: ['id', 'name', 'arguments'] },
)
const assistantMessage = fc
  .array(toolCall, { maxLength: 3 })
  .chain((toolCalls) => {
    const known = toolCalls.map((call) => fc.constant({ type: 'tool_call', id: call.id }))
    const part = fc.oneof(
      textPart,
      fc.record({ type: fc.constant('reasoning'), text, provider }, { requiredKeys: ['type', 'text'] }),
      fc.record({ type: fc.constant('tool_call'), id: text }),
      fc.record({ type: fc.constant('error'), code: fc.constant('network'), text }),
      ...known,
    )
    return join([
      base,
      parent,
      fc.record({ role: fc.constant('assistant'), parts: fc.array(part, { maxLength: 5 }) }),
      fc.constant({ toolCalls }),
      fc.record({ model: text, finishReason: text, usage }, all),
    ])
  })
  .map((message) => message as AssistantMessage)

const output = fc.record(
  { bytes: fc.nat(), lines: fc.nat(), sha256: text, mediaType: text, object: text },
  { requiredKeys: ['bytes', 'lines', 'sha256', 'mediaType'] },
)
const toolMessage = join([
  base,
  parent,
  fc.record({
    role: fc.constant('tool'),
    assistantMessageId: id,
    toolCallId: text,
    toolName: text,
    call: text,
    sequence: fc.nat(),
    status: fc.constantFrom('running', 'waiting', 'approved', 'completed', 'error', 'interrupted', 'denied'),
    parts: fc.array(fc.oneof(textPart, notePart, mediaPart), { maxLength: 3 }),
    generation: fc.nat(),
  }),
  fc.record(
    {
      needs: fc.constantFrom('result', 'approval'),
      output,
      completedAt: time,
      durationMs: fc.nat(),
      resolutionHash: text,
    },
    all,
  ),
]) as fc.Arbitrary<ToolMessage>

const anyMessage = fc.oneof(userMessage, assistantMessage, toolMessage).map(asStored) as fc.Arbitrary<Message>

const columnsOf = (message: Message): MessageColumns => {
  const columns = { id: message.id, runId: message.runId, role: message.role, agent: message.agent }
  return message.role === 'tool' ? { ...columns, status: message.status, generation: message.generation } : columns
}

describe('the stored form of a message', () => {
  test('decodes to exactly the original message, whatever the content', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        expect(decodeBody(columnsOf(message), encodeBody(message))).toStrictEqual(message)
      }),
    )
  })

  test('is read from its row unchanged, whatever the text', () => {
    const database = openDatabase(':memory:')
    const empty = { agent: 'a', status: 'running', trigger: 'input', onBusy: 'queue', clientTools: [] } as const
    const counts = { createdAt: 0, rounds: 0, usage: NO_USAGE, usageByAgent: {} }
    let last: string | undefined
    const next = (): string => (last = nextId(last, 1_800_000_000_000))
    const run = insertRun(database, 1, { ...empty, ...counts, id: next() })
    fc.assert(
      fc.property(anyMessage, (generated) => {
        const message = { ...generated, id: next(), runId: run.run.id }
        insertMessage(database, 1, run.number, message)
        expect(findMessage(database, 1, message.id)).toStrictEqual(message)
      }),
      { numRuns: 60 },
    )
    database.close()
  })

  test('distinguishes a repeated message from a different one', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const stored = decodeBody(columnsOf(message), encodeBody(message))
        expect(isSameMessage(stored, message)).toBe(true)
        expect(isSameMessage(stored, { ...message, round: message.round + 1 })).toBe(false)
        expect(isSameMessage(undefined, message)).toBe(false)
      }),
    )
  })
})

describe('a packed text', () => {
  test('unpacks to the original text', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(60), (piece, times) => {
        const whole = JSON.stringify(piece.repeat(times))
        expect(unpack(pack(whole))).toBe(whole)
      }),
    )
  })

  test.each([65_535, 65_536, 500_000])('unpacks to the original text of %i characters', (length) => {
    for (const piece of ['Größe 12 🚢 ', 'a', '\u0000'])
      expect(unpack(pack(piece.repeat(length).slice(0, length))).length).toBe(length)
    const words = Array.from({ length }, (_, at) => String.fromCharCode(97 + ((at * at * 31) % 26))).join('')
    expect(unpack(pack(words))).toBe(words)
  })

  test('of 64 KB or more uses the fast compression; older deflated texts are still readable', () => {
    const long = 'Twelve blue crates. '.repeat(10_000)
    expect(Buffer.from(pack(long)).subarray(0, 4).toString('hex')).toBe('28b52ffd')
    expect(unpack(deflateRawSync(long))).toBe(long)
  })

  test('is never longer than the text', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1_000, maxLength: 3_000 }), (whole) => {
        expect(pack(JSON.stringify(whole)).length).toBeLessThanOrEqual(JSON.stringify(whole).length)
      }),
    )
  })
})
