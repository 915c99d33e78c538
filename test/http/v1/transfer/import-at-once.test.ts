/* Evidence, imports: A write between two steps of an import ends the imported run. The rest of the turn becomes another run. */
import { afterEach, describe, expect, test } from 'vitest'
import type { LogImport } from '../../../../functions/ports/log-import.ts'
import { comparable, exportLines, parentPlaces, type ExportedMessage } from '../../../e2e/backend/exported.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const text = (one: string): object => ({ parts: [{ type: 'text', text: one }] })
const round = (call: string, name: string, at: string): object[] => [
  { role: 'assistant', ...text(at), tool_calls: [{ id: call, name, arguments: '{}' }] },
  { role: 'tool', tool_call_id: call, ...text(`result of ${at}`) },
]
const rounds = (count: number, name: string): object[] =>
  Array.from({ length: count }, (_, n) => round(`call_${n}`, 'look', `${name} ${n}`)).flat()

/**
 * One turn that is imported in several steps. The first step ends before the member's task, and the others end within rounds of
 * the member or the leader.
 */
const TURN = [
  { role: 'user', ...text('go') },
  ...rounds(37, 'leader'),
  { role: 'assistant', ...text('not alone') },
  ...round('task', 'delegate_task_to_member', 'leader 38'),
  ...[{ role: 'user', ...text('the task') }, ...rounds(50, 'member'), { role: 'assistant', ...text('done') }].map(
    (one) => ({ ...one, agent: 'member', parent_tool_call_id: 'task' }),
  ),
  ...rounds(45, 'leader again'),
  { role: 'assistant', ...text('all done') },
]
const OTHER = [
  { role: 'user', content: 'another log' },
  { role: 'assistant', content: 'its answer' },
]
/** Returns the messages of the imported turn, without those of the other log and of runs that the program executed. */
const ours = (messages: readonly ExportedMessage[]): ExportedMessage[] =>
  messages.filter(
    ({ parts, recorded_at: at }) => at !== undefined && !OTHER.some(({ content }) => content === parts[0]?.text),
  )
const lines = (session: string): Promise<ExportedMessage[]> =>
  exportLines(async (path) => harness.send('GET', path), session)
const withoutRound = (message: ExportedMessage): unknown => ({
  ...(comparable(message) as object),
  round: 0,
  created_at: '',
})

interface Fault {
  /**
   * Number of the append that the fault affects, counted from 1. `come` is awaited before this append. Without `come`,
   * the process dies at this append.
   */
  at: number
  come?: () => Promise<unknown>
}

/** Opens a program whose imports meet a fault, or another write, at the append that the test selects. */
async function open(): Promise<{ fault: Fault; used: () => number }> {
  const fault: Fault = { at: 0 }
  let used = 0
  harness = await openHttpHarness({ change: (ports) => ({ ...ports, imports: disturbed(ports.imports) }) })
  return { fault, used: () => used }

  function disturbed(port: LogImport): LogImport {
    return {
      progress: (key, name) => port.progress(key, name),
      async append(seen, step) {
        if (++used !== fault.at) return port.append(seen, step)
        if (fault.come === undefined) throw new Error('cut off')
        fault.at = 0
        await fault.come()
        return port.append(seen, step)
      },
    }
  }
}

const create = (id: string): Promise<object> => expectJson(harness, 201, 'POST', '/v1/sessions', { id })
const importOther = (session: string): Promise<object> =>
  expectJson(harness, 200, 'POST', `/v1/sessions/${session}/import`, { format: 'openai', messages: OTHER })
const importTurn = (session: string, more: object, headers: Record<string, string>, status = 200, messages = TURN) =>
  expectJson<{ messages: number }>(
    harness,
    status,
    'POST',
    `/v1/sessions/${session}/import`,
    { format: 'native', messages, ...more },
    headers,
  )

/** Expects that runs do not overlap in the log. In each run, the rounds of each loop count from 0. */
async function expectWhole(session: string): Promise<void> {
  const log = await lines(session)
  const begun = log.filter(({ run_id: run }, place) => run !== log[place - 1]?.run_id).map(({ run_id: run }) => run)
  expect(begun, session).toEqual([...new Set(begun)].toSorted())
  const { data } = await expectJson<{ data: { id: string; rounds: number }[] }>(
    harness,
    200,
    'GET',
    `/v1/sessions/${session}/runs?limit=100`,
  )
  expect(data.map(({ id }) => id).toSorted()).toEqual(begun)
  for (const { id, rounds: count } of data) {
    const completions = log.filter((one) => one.run_id === id && one.role === 'assistant')
    const loops = Map.groupBy(completions, ({ parent_tool_call_id: call }) => call)
    for (const [loop, own] of loops)
      expect(
        own.map((one) => one['round']),
        `${session} ${String(loop)}`,
      ).toEqual(own.map((_, n) => n))
    expect(loops.get(undefined)?.length ?? 0, session).toBe(count)
    const first = log.find((one) => one.run_id === id)
    const isInput = first?.role === 'user' && first['parent_tool_call_id'] === undefined
    const run = await harness.ports.reader.run({ tenant: 'default', session }, id)
    expect(run?.trigger, session).toBe(isInput ? 'input' : 'continue')
  }
}

const HOW = [
  ['without a name', {}, {}],
  ['under a key', {}, { 'idempotency-key': 'k' }],
  ['with its place in a source', { source: 's', from: 0 }, {}],
] as const

describe('an input or import between two steps of a turn', () => {
  test.each(HOW)(
    'splits the turn if the turn is imported %s; the remaining steps become another run',
    async (_how, more, headers) => {
      const { fault, used } = await open()
      await create('whole')
      await importTurn('whole', {}, {})
      const whole = await lines('whole')
      await expectWhole('whole')
      const steps = used()
      expect(steps).toBe(4)
      for (let at = 2; at <= steps; at++)
        for (const what of ['import', 'input'] as const) {
          const session = `${what}-${at}`
          await create(session)
          const say = () => harness.send('POST', `/v1/sessions/${session}/messages`, { content: 'wait' })
          Object.assign(fault, { at: used() + at, come: () => (what === 'import' ? importOther(session) : say()) })
          expect(await importTurn(session, more, headers)).toMatchObject({ messages: whole.length })
          const log = await lines(session)
          expect(new Set(log.map(({ run_id: run }) => run)).size).toBe(3)
          expect(ours(log).map(withoutRound), session).toEqual(whole.map(withoutRound))
          expect(parentPlaces(ours(log)), session).toEqual(parentPlaces(whole))
          await expectWhole(session)
          if (more !== HOW[0][1] || headers !== HOW[0][2]) {
            await importTurn(session, more, headers)
            expect(await lines(session), session).toEqual(log)
          }
        }
    },
  )

  test.each(HOW.slice(1))(
    'lets a repetition complete an aborted import %s, even if an earlier repetition was also aborted',
    async (_how, more, headers) => {
      const { fault, used } = await open()
      await create('whole')
      await importTurn('whole', {}, {})
      const whole = await lines('whole')
      const steps = used()
      for (let at = 2; at <= steps; at++)
        for (let again = 1; again <= steps - at + 2; again++) {
          const session = `cut-${at}-${again}`
          await create(session)
          Object.assign(fault, { at: used() + at, come: undefined })
          await importTurn(session, more, headers, 500)
          await importOther(session)
          Object.assign(fault, { at: used() + again })
          const isCut = again < steps - at + 2
          await importTurn(session, more, headers, isCut ? 500 : 200)
          Object.assign(fault, { at: 0 })
          await importTurn(session, more, headers)
          const log = await lines(session)
          expect(new Set(log.map(({ run_id: run }) => run)).size, session).toBe(3)
          expect(ours(log).map(withoutRound), session).toEqual(whole.map(withoutRound))
          expect(parentPlaces(ours(log)), session).toEqual(parentPlaces(whole))
          await expectWhole(session)
        }
    },
  )

  test('is the only cause of a second run; otherwise, new messages continue the run of their source', async () => {
    await open()
    await create('s')
    const source = { source: 'f', from: 0 }
    await importTurn('s', source, {}, 200, TURN.slice(0, 41))
    await importTurn('s', { source: 'f', from: 41 }, {}, 200, TURN.slice(41, 76))
    expect(new Set((await lines('s')).map(({ run_id: run }) => run)).size).toBe(1)
    await expectWhole('s')
  })
})
