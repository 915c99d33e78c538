/* Evidence, imports: An import that is aborted at any point and repeated loses nothing and stores nothing twice. */
import { afterEach, expect, test } from 'vitest'
import type { LogImport } from '../../../../functions/ports/log-import.ts'
import { comparable, exportLines, parentPlaces, type ExportedMessage } from '../../../e2e/backend/exported.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const create = (id: string): Promise<object> => expectJson(harness, 201, 'POST', '/v1/sessions', { id })
const lines = (session: string): Promise<ExportedMessage[]> =>
  exportLines(async (path) => harness.send('GET', path), session)
const importAll = (session: string, messages: readonly object[], more: object = {}, status = 200): Promise<object> =>
  expectJson(harness, status, 'POST', `/v1/sessions/${session}/import`, { format: 'native', messages, ...more })

const text = (one: string): object => ({ parts: [{ type: 'text', text: one }] })
const asks = (...ids: string[]): object => ({
  role: 'assistant',
  parts: [],
  tool_calls: ids.map((id) => ({ id, name: 'delegate_task_to_member', arguments: '{}' })),
})
const returns = (id: string): object => ({ role: 'tool', tool_call_id: id, ...text(`result of ${id}`) })
/** Messages of a member that works for this call. They are too many for one step of an import. */
const member = (names: object): object[] =>
  [
    { role: 'user', ...text('the task') },
    ...Array.from({ length: 50 }, () => [asks('call_0'), returns('call_0')]).flat(),
    { role: 'assistant', ...text('done') },
  ].map((one) => ({ ...one, agent: 'member', ...names }))

/** Models reuse call ids in each round and in each loop. */
const byId = [
  { role: 'user', ...text('go') },
  ...[asks('call_0', 'call_1'), returns('call_0'), returns('call_1')],
  ...member({ parent_tool_call_id: 'call_0' }),
  ...member({ parent_tool_call_id: 'call_1' }),
  ...[asks('call_0'), returns('call_0')],
  ...member({ parent_tool_call_id: 'call_0' }),
  { role: 'assistant', ...text('all done') },
]
const placesById = byId.map((one, place) => {
  if (!('agent' in one)) return -1
  return place < 2 * 102 + 4 ? (place < 102 + 4 ? 2 : 3) : 2 * 102 + 5
})

test('imported messages of members name the message of their delegate call, wherever the import is aborted', async () => {
  const fault = { used: 0, at: 0 }
  harness = await openHttpHarness({ change: (ports) => ({ ...ports, imports: faulty(ports.imports) }) })
  await create('whole')
  await importAll('whole', byId)
  const whole = await lines('whole')
  expect(parentPlaces(whole)).toEqual(placesById)
  const steps = fault.used
  expect(steps).toBeGreaterThan(3)
  for (let at = 1; at <= steps; at++) {
    const session = `cut-${at}`
    await create(session)
    Object.assign(fault, { used: 0, at })
    await importAll(session, byId, { source: 's', from: 0 }, 500)
    await importAll(session, byId, { source: 's', from: 0 })
    expect(parentPlaces(await lines(session)), session).toEqual(placesById)
  }

  function faulty(port: LogImport): LogImport {
    return {
      progress: (key, name) => port.progress(key, name),
      async append(seen, step) {
        if (++fault.used === fault.at) throw new Error('cut off')
        return port.append(seen, step)
      },
    }
  }
})

test('a member whose own calls repeat the id of its delegate call is imported completely, with its members', async () => {
  harness = await openHttpHarness()
  const [leaders, members] = ['row2', 'row4'].map((row) => ({ parent_tool_call_id: 'call_0', parent_message_id: row }))
  const nested = [
    { id: 'row0', role: 'user', ...text('go') },
    { id: 'row1', ...asks('call_0') },
    { id: 'row2', ...returns('call_0') },
    { id: 'row3', ...asks('call_0'), agent: 'member', ...leaders },
    { id: 'row4', ...returns('call_0'), agent: 'member', ...leaders },
    { id: 'row5', role: 'user', ...text('the task'), agent: 'helper', ...members },
    { id: 'row6', role: 'assistant', ...text('helped'), agent: 'helper', ...members },
    { id: 'row7', role: 'assistant', ...text('done'), agent: 'member', ...leaders },
    { id: 'row8', role: 'assistant', ...text('all done') },
  ]
  for (const id of ['s', 'copy']) await create(id)
  await importAll('s', nested)
  const first = await lines('s')
  expect(parentPlaces(first)).toEqual([-1, -1, -1, 2, 2, 4, 4, 2, -1])
  await importAll('copy', first)
  await expectJson(harness, 201, 'POST', '/v1/sessions/s/fork', { id: 'fork' })
  for (const session of ['copy', 'fork']) {
    const again = await lines(session)
    expect(again.map(comparable), session).toEqual(first.map(comparable))
    expect(parentPlaces(again), session).toEqual(parentPlaces(first))
  }
})

test("a member's message before the call's result, or with an unknown message id, keeps only the call id", async () => {
  harness = await openHttpHarness()
  await create('s')
  const before = [
    { role: 'user', ...text('go') },
    asks('call_0'),
    { role: 'assistant', ...text('done'), parent_tool_call_id: 'call_0', parent_message_id: 'never seen' },
    returns('call_0'),
    { role: 'user', ...text('go on') },
    { role: 'assistant', ...text('of the turn before'), parent_tool_call_id: 'call_0' },
  ]
  await importAll('s', before)
  const found = await lines('s')
  expect(found.map(({ parent_tool_call_id: call }) => call)).toEqual([
    ...[undefined, undefined, 'call_0', undefined],
    ...[undefined, 'call_0'],
  ])
  expect(found.filter((one) => 'parent_message_id' in one)).toEqual([])
})
