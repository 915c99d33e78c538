import { describe, expect, it } from 'vitest'
import type { RequestMessage } from '../../../functions/domain/model-request.ts'
import { CHAT_IDS, NARROW_NAMES, PLAIN_IDS, TOOL_NAMES } from '../../../functions/log/request/wire-names.ts'
import { toWireRequest, wireName, withWireNames } from '../../../functions/log/request/wire-names.ts'
import { fc } from '../../generators/seeded.ts'

const RULES = [
  ['tool names', TOOL_NAMES, /^[a-zA-Z0-9_-]{1,64}$/],
  ['narrow names', NARROW_NAMES, /^[a-zA-Z0-9_]{1,40}$/],
  ['ids of Chat Completions', CHAT_IDS, /^[\x21-\x7e]+$/],
  ['plain ids', PLAIN_IDS, /^[a-zA-Z0-9_-]{1,64}$/],
] as const

/** Names that models invent, similar names, and names that look like mapped names. */
const anyName = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: fc.constantFrom('a', 'b', '.', '_', '-', ' ', '\ud83d', '\ud83e', '😀'), maxLength: 5 }),
  fc.constantFrom(
    '',
    '$LOOKUP',
    'browser.tabs.open',
    'browser_tabs_open',
    'x'.repeat(200),
    'x'.repeat(64),
    '__proto__',
  ),
  fc.constantFrom('a.b', 'a b').map((name) => wireName(name, TOOL_NAMES)),
)

describe.each(RULES)('%s', (_, rules, accepted) => {
  it('are valid for the provider, whatever the names in the log', () => {
    fc.assert(
      fc.property(anyName, (name) => {
        expect(wireName(name, rules)).toMatch(accepted)
      }),
    )
  })

  it('stay distinct', () => {
    fc.assert(
      fc.property(fc.uniqueArray(anyName, { maxLength: 40 }), (names) => {
        // The log may also contain mapped names, because a model calls tools by the names in its request.
        const all = [...new Set([...names, ...names.map((name) => wireName(name, rules))])]
        expect(new Set(all.map((name) => wireName(name, rules))).size).toBe(all.length)
      }),
    )
  })

  it('stay unchanged if they are valid', () => {
    const fitting = fc.stringMatching(/^[a-zA-Z0-9_]{1,40}$/)
    fc.assert(
      fc.property(fitting, (name) => {
        expect(wireName(name, rules)).toBe(name)
      }),
    )
  })
})

const anyRound = fc
  .array(fc.record({ id: anyName, name: anyName, arguments: fc.json() }), { minLength: 1, maxLength: 3 })
  .map((calls): RequestMessage[] => [
    { role: 'assistant', parts: calls.map((call) => ({ type: 'tool_call', ...call })) },
    ...calls.map(({ id, name }): RequestMessage => ({
      role: 'tool',
      toolCallId: id,
      toolName: name,
      isError: false,
      parts: [{ type: 'text', text: 'ok' }],
    })),
  ])

describe('the messages of a request', () => {
  it('give a call and its result equal ids and names', () => {
    fc.assert(
      fc.property(anyRound, (round) => {
        const [asked, ...results] = withWireNames(round, { names: TOOL_NAMES, ids: CHAT_IDS })
        const calls = (asked?.parts ?? []).flatMap((part) => (part.type === 'tool_call' ? [[part.id, part.name]] : []))
        const named = results.map((result) => (result.role === 'tool' ? [result.toolCallId, result.toolName] : []))
        expect(named).toEqual(calls)
      }),
    )
  })

  it('stay byte for byte equal when messages are appended (promises R5)', () => {
    fc.assert(
      fc.property(fc.array(anyRound, { maxLength: 4 }), anyRound, (rounds, next) => {
        const rules = { names: TOOL_NAMES, ids: PLAIN_IDS }
        const before = withWireNames(rounds.flat(), rules)
        const after = withWireNames([...rounds.flat(), ...next], rules)
        expect(after.slice(0, before.length)).toEqual(before)
      }),
    )
  })

  it('map the wire name of each tool back to its original name', () => {
    fc.assert(
      fc.property(anyRound, fc.uniqueArray(anyName, { maxLength: 5 }), fc.boolean(), (round, names, isNarrow) => {
        const wire = toWireRequest(
          {
            messages: round,
            tools: names.map((name) => ({ name, description: '', parameters: {} })),
            toolChoice: names[0] === undefined ? 'auto' : { name: names[0] },
            options: {},
            ...(isNarrow ? { narrowNames: true } : {}),
          },
          undefined,
        )
        expect(wire.request.tools.map(({ name }) => wire.originalOf(name))).toEqual(names)
        const choice = wire.request.toolChoice
        if (typeof choice === 'object') expect(choice.name).toBe(wire.request.tools[0]?.name)
      }),
    )
  })
})
