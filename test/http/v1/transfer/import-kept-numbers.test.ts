/* Evidence, replay: A source keeps its number in a fork and in an imported native export; no number has two
 * sources. */
import { afterEach, describe, expect, test } from 'vitest'
import type { ImportStep } from '../../../../functions/domain/messages/imported.ts'
import type { LogImport } from '../../../../functions/ports/log-import.ts'
import { makeTool } from '../../../agent/harness.ts'
import { comparable, exportLines, numberedPlaces, type ExportedMessage } from '../../../e2e/backend/exported.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const create = (id: string): Promise<object> => expectJson(harness, 201, 'POST', '/v1/sessions', { id })
const say = (session: string): Promise<object> =>
  expectJson(harness, 200, 'POST', `/v1/sessions/${session}/messages`, { content: 'go' })
const bring = <Body = object>(session: string, messages: readonly object[], status = 200, headers = {}) =>
  expectJson<Body>(
    harness,
    status,
    'POST',
    `/v1/sessions/${session}/import`,
    { format: 'native', messages },
    headers as Record<string, string>,
  )
const fork = (session: string, body: object, status = 201): Promise<object> =>
  expectJson(harness, status, 'POST', `/v1/sessions/${session}/fork`, body)
const lines = (session: string): Promise<ExportedMessage[]> =>
  exportLines(async (path) => harness.send('GET', path), session)
/** Returns the number and the title of each source of a session. */
async function numbers(session: string): Promise<string[]> {
  const path = `/v1/sessions/${session}/sources?limit=200`
  const { data } = await expectJson<{ data: { number: number; title: string }[] }>(harness, 200, 'GET', path)
  return data.map(({ number, title }) => `${number} ${title}`)
}

const look = makeTool('look', async (input) => {
  const { titles } = input as { readonly titles: string[] }
  return { text: 'seen', sources: titles.map((title) => ({ title })) }
})
const looks = (...titles: string[]) => ({ id: 'a', name: 'look', arguments: JSON.stringify({ titles }) })
const asks = {
  id: 'b',
  name: 'delegate_task_to_member',
  arguments: JSON.stringify({ member: 'clerk', task: 'find out' }),
}
const TEAM = [{ name: 'default', members: ['clerk'] }, { name: 'clerk' }]
/** The leader's first source precedes its member's sources in the log, but has a greater number. */
const SCRIPT = [
  { calls: [looks('leader'), asks] },
  ...[{ calls: [looks('member', 'second')] }, { text: 'As [source2] says.' }],
  { text: 'As [source3] and [source1] say.' },
  ...[{ calls: [looks('later')] }, { text: 'See [source4].' }],
]
const KEPT = ['1 member', '2 second', '3 leader', '4 later']

describe('a source keeps its number', () => {
  test('in a fork, in a native import, and in copies of these; new numbers follow the highest', async () => {
    const more = Array.from({ length: 4 }, () => [{ calls: [looks('new')] }, { text: 'See [source5].' }]).flat()
    harness = await openHttpHarness({ tools: [look], agents: TEAM, script: [...SCRIPT, ...more] })
    await create('s')
    await say('s')
    await say('s')
    expect(await numbers('s')).toEqual(KEPT)
    const log = await lines('s')
    await fork('s', { id: 'fork' })
    await create('copy')
    await bring('copy', log)
    await fork('copy', { id: 'fork-of-copy' })
    await create('copy-of-fork')
    await bring('copy-of-fork', await lines('fork'))
    for (const session of ['fork', 'copy', 'fork-of-copy', 'copy-of-fork']) {
      expect(await numbers(session), session).toEqual(KEPT)
      const copied = await lines(session)
      expect(copied.map(comparable), session).toEqual(log.map(comparable))
      expect(numberedPlaces(copied), session).toEqual(numberedPlaces(log))
      const before = harness.requests.length
      await say(session)
      expect(await numbers(session), session).toEqual([...KEPT, '5 new'])
      const [request] = harness.requests.slice(before)
      expect(JSON.stringify(request?.messages), session).toContain('[source3] leader')
    }
  })

  test('in a fork that contains the message that assigned the number; otherwise, the number is assigned anew', async () => {
    harness = await openHttpHarness({
      tools: [look],
      agents: TEAM,
      script: [...SCRIPT, { calls: [looks('other')] }, { text: 'See [source4].' }],
    })
    await create('s')
    await say('s')
    const [through] = (await lines('s')).slice(-1)
    await say('s')
    await fork('s', { id: 'fork', through: through?.id })
    expect(await numbers('fork')).toEqual(KEPT.slice(0, 3))
    await say('fork')
    expect(await numbers('fork')).toEqual([...KEPT.slice(0, 3), '4 other'])
  })
})

const said = (text: string): object => ({ parts: [{ type: 'text', text }] })
const sourced = (id: string, ...titles: string[]): object[] => [
  { role: 'assistant', parts: [], tool_calls: [{ id: 'a', name: 'look', arguments: '{}' }] },
  { id, role: 'tool', tool_call_id: 'a', ...said(id), sources: titles.map((title) => ({ title })) },
]
const numbering = (...all: readonly (readonly [message: string, from: unknown, count: unknown])[]): object => ({
  role: 'assistant',
  ...said('told'),
  numbered: all.map(([message, from, count]) => ({ message_id: message, from, count })),
})
const INPUT = { role: 'user', ...said('go') }
/**
 * A long log of three parts, in which all calls have the same id. The first turn has 45 results without numbers. After each of
 * the next 60 results, a completion assigns its numbers, which decrease from result to result. The last completion assigns
 * numbers to the first 45 results.
 */
const LONG = [
  ...[INPUT, ...Array.from({ length: 45 }, (_, n) => sourced(`late-${n}`, `late ${n}`)).flat()],
  ...Array.from({ length: 60 }, (_, n) => [
    INPUT,
    ...sourced(`r-${n}`, `a ${n}`, `b ${n}`),
    numbering([`r-${n}`, 301 - 2 * n, 2]),
  ]).flat(),
  ...[INPUT, numbering(...Array.from({ length: 45 }, (_, n) => [`late-${n}`, n + 1, 1] as const))],
]
const LONG_KEPT = [
  ...Array.from({ length: 45 }, (_, n) => `${n + 1} late ${n}`),
  ...Array.from({ length: 60 }, (_, n) => [`${183 + 2 * n} a ${59 - n}`, `${184 + 2 * n} b ${59 - n}`]).flat(),
]

const titleOf = (numbered: string): string => numbered.slice(numbered.indexOf(' ') + 1)

interface Fault {
  /**
   * Number of the append that the fault affects, counted from 1. `come` is another write before this append. Without
   * `come`, the append fails before or after its own write.
   */
  at: number
  when: 'before' | 'after'
  come?: () => Promise<unknown>
}

async function openFaulty(): Promise<{ fault: Fault; steps: ImportStep[] }> {
  const fault: Fault = { at: 0, when: 'before' }
  const steps: ImportStep[] = []
  const faulty = (port: LogImport): LogImport => ({
    progress: (key, name) => port.progress(key, name),
    async append(seen, step) {
      const isHit = steps.push(step) === fault.at
      if (isHit) await fault.come?.()
      const breaks = isHit && fault.come === undefined
      if (breaks && fault.when === 'before') throw new Error('cut off')
      const after = await port.append(seen, step)
      if (breaks) throw new Error('cut off')
      return after
    },
  })
  harness = await openHttpHarness({ change: (ports) => ({ ...ports, imports: faulty(ports.imports) }) })
  return { fault, steps }
}

test('an aborted import or fork keeps the source numbers when it is repeated, wherever it stopped', async () => {
  const { fault, steps } = await openFaulty()
  await create('whole')
  await bring('whole', LONG)
  expect(await numbers('whole')).toEqual(LONG_KEPT)
  const whole = await lines('whole')
  const count = steps.length
  expect(count).toBeGreaterThan(3)
  const key = { 'idempotency-key': 'k' }
  for (let at = 1; at <= count; at++)
    for (const when of ['before', 'after'] as const) {
      const [copy, forked] = [`copy-${at}-${when}`, `fork-${at}-${when}`]
      await create(copy)
      Object.assign(fault, { at: steps.length + at, when })
      await bring(copy, LONG, 500, key)
      await bring(copy, LONG, 200, key)
      Object.assign(fault, { at: steps.length + at })
      await fork('whole', { id: forked }, 500)
      await fork('whole', { id: forked }, at === count && when === 'after' ? 409 : 201)
      for (const session of [copy, forked]) {
        expect(await numbers(session), session).toEqual(LONG_KEPT)
        expect(numberedPlaces(await lines(session)), session).toEqual(numberedPlaces(whole))
      }
    }
})

test('a source numbered by a run between two steps keeps that number', async () => {
  const { fault, steps } = await openFaulty()
  await create('whole')
  await bring('whole', LONG)
  const titles = LONG_KEPT.map(titleOf).toSorted()
  const count = steps.length
  for (let at = 2; at <= count; at++) {
    const session = `s-${at}`
    await create(session)
    let between: string[] = []
    fault.at = steps.length + at
    fault.come = async () => {
      await say(session)
      between = await numbers(session)
    }
    await bring(session, LONG)
    await say(session)
    const all = await numbers(session)
    expect(all.map(titleOf).toSorted(), session).toEqual(titles)
    expect(all, session).toEqual(expect.arrayContaining(between))
  }
})

test('each step fits a transaction of DynamoDB, including rows with source numbers', async () => {
  const { steps } = await openFaulty()
  await create('s')
  const turns = Array.from({ length: 150 }, (_, n) => [
    ...sourced(`r-${n}`, `title ${n}`),
    numbering([`r-${n}`, n + 1, 1]),
  ])
  await bring('s', [INPUT, ...turns.flat()])
  const rows = steps.map(({ messages, runs }) =>
    messages.reduce((sum, one) => sum + ('numbered' in one ? 2 : 1), runs.length),
  )
  // The transaction also writes the session's header, the import's name and an expiry. Its limit is 100 items.
  expect(Math.max(...rows)).toBeLessThanOrEqual(95)
  expect(Math.max(...rows)).toBeGreaterThan(70)
})

describe('source numbers that cannot be kept are replaced, and the import continues', () => {
  test.each<readonly [what: string, messages: readonly object[]]>([
    ['of a result that did not come', [numbering(['x', 1, 1])]],
    ['of a result that comes later', [numbering(['x', 1, 1]), ...sourced('x', 'X')]],
    ['of more sources than the result has', [...sourced('x', 'X'), numbering(['x', 1, 2])]],
    ['with a gap', [...sourced('x', 'X'), ...sourced('y', 'Y'), numbering(['x', 1, 1], ['y', 3, 1])]],
    ['given twice to one result', [...sourced('x', 'X'), numbering(['x', 1, 1], ['x', 2, 1])]],
  ])('%s', async (_, messages) => {
    harness = await openHttpHarness({ tools: [look], script: [{ calls: [looks('new')] }, { text: 'done' }] })
    await create('s')
    await bring('s', [INPUT, ...messages])
    expect(await numbers('s')).toEqual([])
    await say('s')
    const titles = messages.flatMap((one) => ('sources' in one ? (one.sources as { title: string }[]) : []))
    const all = [...titles.map(({ title }) => title), 'new']
    expect(await numbers('s')).toEqual(all.map((title, place) => `${place + 1} ${title}`))
  })

  test('numbers of a result are replaced if another source already has one of them; other results keep theirs', async () => {
    harness = await openHttpHarness()
    await create('s')
    const log = (name: string, from: number) => [
      INPUT,
      ...sourced(name, `${name} 1`, `${name} 2`),
      numbering([name, from, 2]),
    ]
    await bring('s', [
      ...log('a', 5),
      ...log('b', 4),
      ...log('c', 7),
      ...log('d', 8),
      ...log('e', 3),
      numbering(['a', 20, 2]),
    ])
    expect(await numbers('s')).toEqual(['3 e 1', '4 e 2', '5 a 1', '6 a 2', '7 c 1', '8 c 2'])
    await bring('s', [...log('f', 8), ...log('g', 1), ...log('h', 2), ...log('i', 9)])
    const kept = ['1 g 1', '2 g 2', '3 e 1', '4 e 2', '5 a 1', '6 a 2', '7 c 1', '8 c 2', '9 i 1', '10 i 2']
    expect(await numbers('s')).toEqual(kept)
    await say('s')
    const given = ['b', 'd', 'f', 'h'].flatMap((name) => [`${name} 1`, `${name} 2`])
    expect(await numbers('s')).toEqual([...kept, ...given.map((title, place) => `${11 + place} ${title}`)])
  })

  test.each([
    ['0', 'x', 0, 1],
    ['a fraction', 'x', 1.5, 1],
    ['no number', 'x', '1', 1],
    ['beyond those of citations', 'x', 1_000_000_000, 1],
    ['of a hundred and one', 'x', 1, 101],
  ])('invalid numbers are rejected instead: %s', async (_, message, from, count) => {
    harness = await openHttpHarness()
    await create('s')
    const refused = await bring<{ errors: { path: string }[] }>(
      's',
      [INPUT, ...sourced('x', 'X'), numbering([message, from, count])],
      422,
    )
    expect(refused.errors[0]?.path).toMatch(/^body\.messages\[3\]\.numbered\[0\]\./)
  })
})
