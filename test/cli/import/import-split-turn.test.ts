/* Evidence, imports: A copy of a split turn keeps the member of each message, even if call ids repeat. */
import { expect, test } from 'vitest'
import { comparable, parentPlaces } from '../../e2e/backend/exported.ts'
import { declareImporting } from '../../e2e/backend/importing.ts'

const importing = declareImporting()
const { log } = importing

const said = (text: string): object => ({ parts: [{ type: 'text', text }] })
const CALL = { id: 'call_0', name: 'delegate_task_to_member', arguments: '{}' }
const MEMBER = { agent: 'member', parent_tool_call_id: 'call_0', parent_message_id: 'row2' }
const TURN = [
  { role: 'user', ...said('go') },
  { role: 'assistant', parts: [], tool_calls: [CALL] },
  { id: 'row2', role: 'tool', tool_call_id: 'call_0', ...said('result') },
  { role: 'user', ...said('the task'), ...MEMBER },
  { role: 'assistant', ...said('done'), ...MEMBER },
  { role: 'assistant', ...said('all done') },
]

test('an export that continues members of an earlier turn is imported, and the members keep their calls', async () => {
  const { client } = importing.program
  const bring = (more: object) => client.post('/v1/sessions/origin/import', { format: 'native', ...more })
  const take = async () => {
    importing.write('origin.jsonl', await (await fetch(`${client.url}/v1/sessions/origin/export`)).text())
    const { messages } = await importing.run('native')
    expect(importing.faults).toEqual([])
    expect((await log('native-origin')).map(comparable)).toEqual((await log('origin')).map(comparable))
    expect(parentPlaces(await log('native-origin'))).toEqual(parentPlaces(await log('origin')))
    return messages
  }
  await client.post('/v1/sessions', { id: 'origin' })
  await bring({ source: 's', from: 0, messages: TURN.slice(0, 3) })
  await bring({ messages: [{ role: 'user', ...said('meanwhile') }] })
  expect(await take()).toBe(4)
  await bring({ source: 's', from: 0, messages: TURN })
  expect(await take()).toBe(3)
  expect(parentPlaces(await log('native-origin'))).toEqual([-1, -1, -1, -1, 2, 2, -1])
})
