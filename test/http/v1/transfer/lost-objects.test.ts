/* Evidence, imports: Imports, forks and exports succeed even if an object is lost. */
import { afterEach, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

/* Lost objects (promises O4): a note takes their place in exports and forks. */

let harness: HttpHarness
afterEach(() => harness.close())

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

test('a session that lost all its objects is exported in each format, imported again, and forked', async () => {
  harness = await openHttpHarness({})
  const key = { tenant: 'default', session: 's' }
  const image = { type: 'image', media_type: 'image/png', filename: 'pixel.png', data: PIXEL }
  const messages = [
    { role: 'user', parts: [{ type: 'text', text: 'look' }, image] },
    {
      role: 'assistant',
      parts: [{ type: 'tool_call', id: 'c' }],
      tool_calls: [{ id: 'c', name: 'find', arguments: '{}' }],
    },
    {
      role: 'tool',
      tool_call_id: 'c',
      parts: [{ type: 'text', text: 'walrus '.repeat(20_000) }],
      sources: [{ title: 'a page', text: 'otter '.repeat(20_000) }],
    },
  ]
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/import', { format: 'native', messages })
  const { messages: stored } = await harness.ports.reader.messages(key, { order: 'ascending', limit: 10 })
  const names = stored.flatMap((message) => [
    ...message.parts.flatMap((part) => (part.type === 'image' || part.type === 'file' ? [part.id] : [])),
    ...(message.role === 'tool' ? [message.output, ...(message.sources ?? []).map(({ output }) => output)] : []).map(
      (output) => output?.object,
    ),
  ])
  expect(names.filter((name) => name !== undefined)).toHaveLength(3)
  for (const name of names) if (name !== undefined) await harness.ports.outputs.remove(key, name)

  const exported = async (query: string): Promise<string> => {
    const response = await harness.send('GET', `/v1/sessions/s/export?${query}`)
    expect(response.status).toBe(200)
    return response.text()
  }
  const native = await exported('format=native')
  expect(native).toContain('[pixel.png (image/png) is no longer available to view]')
  expect(native.match(/\[The full text is no longer available to view\]/g)).toHaveLength(2)
  expect(await exported('format=markdown')).toContain('[The full text is no longer available to view]')
  await exported('format=openai')
  const lines = native.trim().split('\n').slice(1)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'again' })
  const body = { format: 'native', messages: lines.map((line) => JSON.parse(line) as unknown) }
  await expectJson(harness, 200, 'POST', '/v1/sessions/again/import', body)
  await expectJson(harness, 201, 'POST', '/v1/sessions/s/fork', { id: 'copy' })
})

test('a short result whose image was lost is exported without the hash of its output, and imported again', async () => {
  harness = await openHttpHarness({})
  const key = { tenant: 'default', session: 's' }
  const image = { type: 'image', media_type: 'image/png', filename: 'pixel.png', data: PIXEL }
  const messages = [
    { role: 'user', parts: [{ type: 'text', text: 'look' }] },
    { role: 'assistant', parts: [], tool_calls: [{ id: 'c', name: 'find', arguments: '{}' }] },
    { role: 'tool', tool_call_id: 'c', parts: [{ type: 'text', text: 'short' }, image] },
  ]
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/import', { format: 'native', messages })
  const { messages: stored } = await harness.ports.reader.messages(key, { order: 'ascending', limit: 10 })
  for (const { parts } of stored)
    for (const part of parts) if (part.type === 'image') await harness.ports.outputs.remove(key, part.id)
  const native = await (await harness.send('GET', '/v1/sessions/s/export?format=native')).text()
  const lines = native.trim().split('\n').slice(1)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'again' })
  const body = { format: 'native', messages: lines.map((line) => JSON.parse(line) as unknown) }
  await expectJson(harness, 200, 'POST', '/v1/sessions/again/import', body)
})
