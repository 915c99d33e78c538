/* Evidence, imports: A copy of a split turn keeps the member of each message, even if call ids repeat. */
import { afterEach, expect, test } from 'vitest'
import { comparable, exportLines, parentPlaces, type ExportedMessage } from '../../../e2e/backend/exported.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const text = (one: string): object => ({ parts: [{ type: 'text', text: one }] })
const asks = (id: string, more: object = {}): object => ({
  role: 'assistant',
  parts: [],
  tool_calls: [{ id, name: 'delegate_task_to_member', arguments: '{}' }],
  ...more,
})
const returns = (id: string, more: object = {}): object => ({
  role: 'tool',
  tool_call_id: id,
  ...text(`result of ${id}`),
  ...more,
})
const member = { agent: 'member', parent_tool_call_id: 'call_0' }
const helper = { agent: 'helper', parent_tool_call_id: 'call_0' }

/** A turn of a leader, its member, and the member's member. The two delegate calls have the same id. */
const TURN = [
  { role: 'user', ...text('go') },
  asks('call_0'),
  returns('call_0', { id: 'row2' }),
  { role: 'user', ...text('the task'), ...member, parent_message_id: 'row2' },
  asks('call_0', { ...member, parent_message_id: 'row2' }),
  returns('call_0', { ...member, parent_message_id: 'row2', id: 'row5' }),
  { role: 'user', ...text('the part of it'), ...helper, parent_message_id: 'row5' },
  { role: 'assistant', ...text('helped'), ...helper, parent_message_id: 'row5' },
  { role: 'assistant', ...text('done'), ...member, parent_message_id: 'row2' },
  { role: 'assistant', ...text('all done') },
]

const lines = (session: string): Promise<ExportedMessage[]> =>
  exportLines(async (path) => harness.send('GET', path), session)
const create = (id: string): Promise<object> => expectJson(harness, 201, 'POST', '/v1/sessions', { id })
const importAll = (session: string, messages: readonly object[], more: object = {}): Promise<object> =>
  expectJson(harness, 200, 'POST', `/v1/sessions/${session}/import`, { format: 'native', messages, ...more })

/** For each message, returns the index of the first message of its run. */
const runPlaces = (messages: readonly ExportedMessage[]): number[] =>
  messages.map(({ run_id: run }) => messages.findIndex((one) => one.run_id === run))

async function expectEqual(copy: string, first: readonly ExportedMessage[]): Promise<void> {
  const again = await lines(copy)
  expect(again.map(comparable), copy).toEqual(first.map(comparable))
  expect(parentPlaces(again), copy).toEqual(parentPlaces(first))
  expect(runPlaces(again), copy).toEqual(runPlaces(first))
}

test.each(['input', 'import'] as const)(
  'a copy of a turn that was split by an %s keeps the member of each message',
  async (what) => {
    harness = await openHttpHarness()
    await create('whole')
    await importAll('whole', TURN)
    const whole = await lines('whole')
    for (let at = 1; at < TURN.length; at++) {
      const session = `s-${at}`
      await create(session)
      await importAll(session, TURN.slice(0, at), { source: 'f', from: 0 })
      if (what === 'import') await importAll(session, TURN)
      else await expectJson(harness, 200, 'POST', `/v1/sessions/${session}/messages`, { content: 'meanwhile' })
      await importAll(session, TURN, { source: 'f', from: 0 })
      const log = await lines(session)
      const [from, others] = [at + (isCall(TURN[at - 1]) ? 1 : 0), what === 'import' ? TURN.length : 2]
      const own = [...log.slice(0, from), ...log.slice(from + others)]
      expect(parentPlaces(own), session).toEqual(parentPlaces(whole))
      await create(`copy-${at}`)
      await importAll(`copy-${at}`, log)
      await expectEqual(`copy-${at}`, log)
      const ends = log.filter((one, place) => log[place + 1]?.run_id !== one.run_id)
      for (const { id: through } of ends) {
        const fork = `fork-${at}-${through}`
        await expectJson(harness, 201, 'POST', `/v1/sessions/${session}/fork`, { id: fork, through })
        await expectEqual(
          fork,
          log.filter(({ id }) => id <= through),
        )
      }
    }
  },
)

test('the calls of a turn that was split twice are not confused with equal ids of other turns', async () => {
  harness = await openHttpHarness()
  for (const id of ['whole', 's']) await create(id)
  await importAll('whole', TURN)
  for (const count of [3, 4, TURN.length]) {
    if (count > 3) await importAll('s', TURN)
    await importAll('s', TURN.slice(0, count), { source: 'f', from: 0 })
  }
  const log = await lines('s')
  const own = [...log.slice(0, 3), ...log.slice(3 + TURN.length, 4 + TURN.length), ...log.slice(4 + 2 * TURN.length)]
  expect(own.map(comparable).map(withoutPlace)).toEqual((await lines('whole')).map(comparable).map(withoutPlace))
  expect(parentPlaces(own)).toEqual(parentPlaces(await lines('whole')))
})

const withoutPlace = (message: unknown): unknown => ({ ...(message as object), round: 0, created_at: '' })

/** Whether the message has calls. The import adds a result to each call without a result. */
const isCall = (message: object | undefined): boolean => message !== undefined && 'tool_calls' in message
