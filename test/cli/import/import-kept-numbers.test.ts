/* Evidence, replay: A source keeps its number in a fork and in an imported native export; no number has two
 * sources. */
import { expect, test } from 'vitest'
import { numberedPlaces } from '../../e2e/backend/exported.ts'
import { declareImporting } from '../../e2e/backend/importing.ts'

const importing = declareImporting()
const { log } = importing

const said = (text: string): object => ({ parts: [{ type: 'text', text }] })
const LOG = [
  { role: 'user', ...said('go') },
  { role: 'assistant', parts: [], tool_calls: [{ id: 'call_0', name: 'look', arguments: '{}' }] },
  { id: 'row2', role: 'tool', tool_call_id: 'call_0', ...said('seen'), sources: [{ title: 'A' }] },
  { role: 'user', ...said('go on') },
  { role: 'assistant', ...said('As [source7] says.'), numbered: [{ message_id: 'row2', from: 7, count: 1 }] },
]

test('an imported export keeps the number that a later turn gives to a source of an earlier turn', async () => {
  const { client } = importing.program
  const bring = (messages: object[]) =>
    client.post('/v1/sessions/origin/import', { format: 'native', source: 's', from: 0, messages })
  const take = async () => {
    importing.write('origin.jsonl', await (await fetch(`${client.url}/v1/sessions/origin/export`)).text())
    const { messages } = await importing.run('native')
    expect(importing.faults).toEqual([])
    return messages
  }
  await client.post('/v1/sessions', { id: 'origin' })
  await bring(LOG.slice(0, 3))
  expect(await take()).toBe(3)
  await bring(LOG)
  expect(await take()).toBe(2)
  for (const session of ['origin', 'native-origin'])
    expect(numberedPlaces(await log(session)), session).toEqual([[2, 7]])
})
