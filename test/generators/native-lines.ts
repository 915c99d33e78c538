import { fc } from './seeded.ts'

/** The fields of a native export's line that an import reads. */
export interface NativeLine {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly status?: string
  readonly parts: readonly { readonly type: string; readonly text?: string }[]
  readonly [field: string]: unknown
}

const text = fc.oneof(
  { weight: 6, arbitrary: fc.lorem({ maxCount: 5 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  fc.constantFrom('', ' ', '\n', '\u0000', '😀', '検索する', '"quoted"', '</system_note>', 'long line\n'.repeat(7_000)),
)
const rawArguments = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom(
    '',
    '{}',
    ' { "a" : 1 } ',
    '{"n":12345678901234567890,"e":1e400}',
    '{"broken": ',
    'not json',
    '"text"',
  ),
)
const time = fc.option(
  fc.integer({ min: 0, max: 1e9 }).map((second) => new Date(second * 1_000).toISOString()),
  {
    nil: undefined,
  },
)
const said = text.map((one) => ({ type: 'text', text: one }))
const image = fc
  .uint8Array({ minLength: 1, maxLength: 20 })
  .map((bytes) => ({ type: 'image', media_type: 'image/png', data: Buffer.from(bytes).toString('base64') }))
const status = fc.constantFrom('completed', 'error', 'interrupted', 'cancelled', 'denied')

const user = fc
  .record({ parts: fc.array(fc.oneof(said, image), { minLength: 1, maxLength: 3 }), created_at: time })
  .map((one): NativeLine => ({ role: 'user', ...one }))

/**
 * A completion and the results of its calls; some calls have none. There are few ids, so that several calls have the same id.
 */
const round = fc
  .record({
    parts: fc.array(
      fc.oneof(
        said,
        text.map((one) => ({ type: 'reasoning', text: one })),
      ),
      { maxLength: 3 },
    ),
    created_at: time,
    calls: fc.uniqueArray(
      fc.record({
        id: fc.constantFrom('call_0', 'call_1', 'functions.shell:0'),
        name: fc.constantFrom('shell', 'read_output', 'unknown tool'),
        arguments: rawArguments,
      }),
      { maxLength: 3, selector: ({ id }) => id },
    ),
    results: fc.array(fc.option(fc.record({ status, text, created_at: time }), { nil: undefined }), {
      minLength: 3,
      maxLength: 3,
    }),
  })
  .map(({ calls, results, ...spoken }): NativeLine[] => [
    { role: 'assistant', ...spoken, tool_calls: calls },
    ...calls.flatMap((call, sequence) => {
      const result = results[sequence]
      if (result === undefined) return []
      const about = { tool_call_id: call.id, tool_name: call.name, sequence, created_at: result.created_at }
      return [{ role: 'tool', ...about, status: result.status, parts: [{ type: 'text', text: result.text }] } as const]
    }),
  ])

/** Lines of one agent for an input. The lines of a member may follow the result of its delegate call. */
interface Loop {
  readonly input: NativeLine
  readonly rounds: readonly NativeLine[][]
  readonly member: { readonly place: number; readonly loop: Loop } | undefined
}
const loop = (depth: number): fc.Arbitrary<Loop> =>
  fc.record({
    input: user,
    rounds: fc.array(round, { maxLength: 3 }),
    member:
      depth === 0
        ? fc.constant(undefined)
        : fc.option(fc.record({ place: fc.nat({ max: 3 }), loop: loop(depth - 1) }), { nil: undefined }),
  })

function linesOf({ input, rounds, member }: Loop, nextId: () => string, names: object = {}): NativeLine[] {
  let results = 0
  return [input, ...rounds.flat()].flatMap((line) => {
    const own: NativeLine = { ...line, id: nextId(), ...names }
    if (line.role !== 'tool' || results++ !== member?.place) return [own]
    const parent = { parent_tool_call_id: own['tool_call_id'], parent_message_id: own['id'] }
    return [own, ...linesOf(member.loop, nextId, { agent: 'member', ...parent })]
  })
}

/** Logs of a few turns, in the form of an import. */
export const nativeLines: fc.Arbitrary<NativeLine[]> = fc
  .array(loop(2), { minLength: 1, maxLength: 4 })
  .map((turns) => {
    let id = 0
    return turns.flatMap((turn) => linesOf(turn, () => `row${++id}`))
  })
