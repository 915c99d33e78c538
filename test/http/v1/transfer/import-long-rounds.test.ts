/* Evidence, imports: A round that spans several steps of an import keeps its results, even if other messages arrive between
 * the steps. */
/* Evidence, limits: An import needs bounded memory, whatever its messages, calls and members are. */
import { afterEach, describe, expect, test } from 'vitest'
import type { ImportStep } from '../../../../functions/domain/messages/imported.ts'
import type { RequestMessage } from '../../../../functions/domain/model-request.ts'
import type { LogImport } from '../../../../functions/ports/log-import.ts'
import { comparable, exportLines, parentPlaces, type ExportedMessage } from '../../../e2e/backend/exported.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../../harness.ts'
import { isWhole } from '../../../whole.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const said = (text: string): object => ({ parts: [{ type: 'text', text }] })
/** A round whose results are in the order of `places`, the indexes of their calls. */
function round(count: number, what: string, places = Array.from({ length: count }, (_, n) => n)): object[] {
  const calls = Array.from({ length: count }, (_, n) => ({ id: `call_${n}`, name: 'look', arguments: `{"n":${n}}` }))
  const results = places.map((n) => ({ role: 'tool', tool_call_id: `call_${n}`, ...said(`${what} ${n}`) }))
  return [{ role: 'assistant', ...said(what), tool_calls: calls }, ...results]
}
const MEMBER = { agent: 'member', parent_tool_call_id: 'call_0' }
const WAYS: readonly [name: string, messages: readonly object[]][] = [
  ['of the leader', [{ role: 'user', ...said('go') }, ...round(200, 'round'), { role: 'assistant', ...said('done') }]],
  [
    'whose results come in another order',
    [
      { role: 'user', ...said('go') },
      ...round(100, 'round', [...Array.from({ length: 100 }, (_, n) => 99 - n)]),
      ...round(2, 'next'),
      { role: 'assistant', ...said('done') },
    ],
  ],
  [
    'of a member',
    [
      { role: 'user', ...said('go') },
      ...round(1, 'task'),
      ...[{ role: 'user', ...said('the task') }, ...round(130, 'inner'), { role: 'assistant', ...said('told') }].map(
        (one) => ({ ...one, ...MEMBER }),
      ),
      { role: 'assistant', ...said('done') },
    ],
  ],
]
/** Another log, whose calls have the same ids. */
const OTHER = [{ role: 'user', ...said('another') }, ...round(3, 'other'), { role: 'assistant', ...said('other done') }]

/** Events between two steps of an import. CI tries two of them at each step. */
const FAULTS = ['import', 'input', 'death', 'later-death'] as const

interface Fault {
  /** Number of the append, counted from 1, before which the fault happens. The fault may kill the importing process. */
  at: number
  come: () => Promise<unknown>
}

async function open(): Promise<{ fault: Fault; steps: ImportStep[] }> {
  const fault: Fault = { at: 0, come: async () => undefined }
  const steps: ImportStep[] = []
  harness = await openHttpHarness({ change: (ports) => ({ ...ports, imports: disturbed(ports.imports) }) })
  return { fault, steps }

  function disturbed(port: LogImport): LogImport {
    return {
      progress: (key, name) => port.progress(key, name),
      async append(seen, step) {
        steps.push(step)
        if (steps.length !== fault.at) return port.append(seen, step)
        fault.at = 0
        await fault.come()
        return port.append(seen, step)
      },
    }
  }
}

const create = (id: string): Promise<object> => expectJson(harness, 201, 'POST', '/v1/sessions', { id })
const bring = (session: string, messages: readonly object[], headers: Record<string, string> = {}, status = 200) =>
  expectJson<{ messages: number }>(
    harness,
    status,
    'POST',
    `/v1/sessions/${session}/import`,
    { format: 'native', messages },
    headers,
  )
const lines = (session: string): Promise<ExportedMessage[]> =>
  exportLines(async (path) => harness.send('GET', path), session)
const say = (session: string, content: string): Promise<object> =>
  expectJson(harness, 200, 'POST', `/v1/sessions/${session}/messages`, { content })
const KEY = { 'idempotency-key': 'k' }

/**
 * Checks that each completion with calls is followed by one result for each call, in order, and that no other results exist.
 */
function expectValid(messages: readonly RequestMessage[], what: string): void {
  for (let at = 0; at < messages.length;) {
    const message = messages[at++]
    expect(message?.role, what).not.toBe('tool')
    if (message?.role !== 'assistant') continue
    for (const part of message.parts) {
      if (part.type !== 'tool_call') continue
      const result = messages[at++]
      expect(result?.role === 'tool' && result.toolCallId, what).toBe(part.id)
    }
  }
}

const results = (log: readonly ExportedMessage[], what: string): string[] =>
  log.flatMap(({ role, parts }) => (role === 'tool' && parts[0]?.text?.startsWith(`${what} `) ? [parts[0].text] : []))

const sentResults = (request: readonly RequestMessage[], what: string): string[] =>
  request
    .flatMap((one) => (one.role === 'tool' ? one.parts : []))
    .flatMap((part) => (part.type === 'text' && part.text.startsWith(`${what} `) ? [part.text] : []))

describe('a round that is longer than a step', () => {
  test.each(WAYS)(
    '%s is split by a concurrent write, and its remaining part is another round',
    async (_way, messages) => {
      const { fault, steps } = await open()
      await create('whole')
      await bring('whole', messages)
      const whole = await lines('whole')
      expect(whole).toHaveLength(messages.length)
      const count = steps.length
      expect(count).toBeGreaterThan(2)
      for (let at = 2; at <= count; at++)
        for (const what of FAULTS.filter((_, place) => isWhole || place % 2 === at % 2)) {
          const session = `${what}-${at}`
          await create(session)
          const die = () => Promise.reject(new Error('died'))
          fault.at = steps.length + at
          fault.come = async () => {
            await (what === 'import' ? bring(session, OTHER) : say(session, 'meanwhile'))
            if (what === 'death') await die()
            // The next append repeats this step. The append after it stores the next step.
            if (what === 'later-death') Object.assign(fault, { at: steps.length + 2, come: die })
          }
          const isLast = what === 'later-death' && at === count
          await bring(session, messages, KEY, what.endsWith('death') && !isLast ? 500 : 200)
          fault.at = 0
          expect(await bring(session, messages, KEY), session).toMatchObject({ messages: messages.length })
          const log = await lines(session)
          for (const name of ['round', 'next', 'task', 'inner'])
            expect(results(log, name), `${session} ${name}`).toEqual(results(whole, name))
          const before = harness.requests.at(-1)?.messages ?? []
          await say(session, 'and then?')
          const request = harness.requests.at(-1)?.messages ?? []
          expectValid(request, session)
          for (const name of ['round', 'next', 'task'])
            expect(sentResults(request, name).toSorted()).toEqual(results(whole, name).toSorted())
          if (what !== 'import') expect(request.slice(0, before.length), session).toEqual(before)
          expect(await bring(session, messages, KEY)).toMatchObject({ messages: messages.length })
          if (what === 'import') await expectCopies(session)
        }
    },
    120_000,
  )

  test('is split again by further concurrent writes', async () => {
    const { fault, steps } = await open()
    await create('s')
    const resume = async (): Promise<void> => {
      // The next append repeats this step. The append after it stores the next step.
      fault.at = steps.length + 2
      await say('s', `${steps.length}`)
    }
    Object.assign(fault, { at: 2, come: resume })
    const [, messages = []] = WAYS[0] ?? []
    await bring('s', messages)
    fault.at = 0
    const log = await lines('s')
    expect(results(log, 'round')).toEqual(Array.from({ length: 200 }, (_, n) => `round ${n}`))
    const { length } = log.filter((one) => one.role === 'assistant' && (one.tool_calls?.length ?? 0) > 0)
    expect(length).toBe(3)
    await say('s', 'and then?')
    const request = harness.requests.at(-1)?.messages ?? []
    expectValid(request, 'at last')
    for (const { messages: sent } of harness.requests) expect(request.slice(0, sent.length)).toEqual(sent)
  })

  async function expectCopies(session: string): Promise<void> {
    await create(`${session}-copy`)
    await bring(`${session}-copy`, await lines(session))
    await expectJson(harness, 201, 'POST', `/v1/sessions/${session}/fork`, { id: `${session}-fork` })
    const copy = await lines(`${session}-copy`)
    const fork = await lines(`${session}-fork`)
    expect(fork.map(comparable)).toEqual(copy.map(comparable))
    expect(parentPlaces(fork)).toEqual(parentPlaces(copy))
    await create(`${session}-again`)
    await bring(`${session}-again`, copy)
    expect((await lines(`${session}-again`)).map(comparable)).toEqual(copy.map(comparable))
  }
})

test('a round of 64 calls is one step, however long its results are', async () => {
  const { steps } = await open()
  await create('s')
  const long = round(64, 'x'.repeat(40_000))
  await bring('s', [...OTHER, { role: 'user', ...said('go') }, ...long, { role: 'assistant', ...said('done') }])
  const step = steps.find(({ messages }) =>
    messages.some((one) => one.role === 'assistant' && one.toolCalls.length === 64),
  )
  expect(step?.messages.filter(({ role }) => role === 'tool').length).toBeGreaterThanOrEqual(64)
})

const LONG = 'x'.repeat(250_000)
const provider = { other: { signature: LONG } }
const asked = { role: 'assistant', parts: [], tool_calls: [{ id: 'a', name: 'look', arguments: '{}' }] }
const RATINGS = Array.from({ length: 100 }, (_, n) => ({
  rating: 'positive',
  user: `${n} ${'x'.repeat(250)}`,
  at: '2026-11-21T09:30:00Z',
}))
const found = { role: 'tool', tool_call_id: 'a', ...said('found') }

test.each<[what: string, round: readonly object[]]>([
  ['metadata', [{ role: 'user', ...said('go'), metadata: { note: LONG } }]],
  ['data of a part', [{ role: 'assistant', parts: [{ type: 'reasoning', text: '', provider }] }]],
  ['data of a call', [{ ...asked, tool_calls: [{ ...asked.tool_calls[0], provider }] }, found]],
  ['usage', [{ role: 'assistant', ...said('done'), usage: { provider } }]],
  ['feedback', Array.from({ length: 8 }, () => ({ role: 'assistant', ...said('done'), feedback: RATINGS }))],
  ['sources', [asked, { ...found, sources: [{ title: 'A page', text: LONG }] }]],
  ['names of the calls that members work for', [{ role: 'assistant', ...said('done'), parent_tool_call_id: LONG }]],
  ['data of a tool', [asked, { ...found, parts: [{ type: 'data', data: LONG }] }]],
])('a step has few messages if their %s are long', async (_what, one) => {
  const { steps } = await open()
  await create('s')
  await bring('s', [...Array.from({ length: 12 }, () => one).flat()])
  expect(Math.max(...steps.map(({ messages }) => messages.length / one.length))).toBeLessThanOrEqual(5)
})
