import { afterEach, expect, test } from 'vitest'
import { comparable, exportLines } from '../../../e2e/backend/exported.ts'
import { makeTool } from '../../../agent/harness.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())
const get = async (path: string): Promise<Response> => harness.send('GET', path)

test("an openai import keeps the bytes of files, and the provider's data of a call", async () => {
  harness = await openHttpHarness()
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const pdf = Buffer.from(`%PDF-1.7 ${'ÿ~?>'.repeat(9)}`)
  const base64 = pdf.toString('base64')
  const written = [
    base64,
    `data:application/pdf;base64,${base64}`,
    `data:application/pdf;base64,${encodeURIComponent(base64)}`,
    base64.replace(/(.{20})/gu, '$1\r\n'),
    pdf.toString('base64url'),
  ]
  const file = (data: string) => ({ type: 'file', file: { filename: 'a.pdf', file_data: data } })
  const signed = {
    id: 'c',
    type: 'function',
    function: { name: 'shell', arguments: '{}' },
    extra_content: { google: { thought_signature: 'c2lnbmVk' } },
  }
  const messages = [
    { role: 'user', content: [...written.map(file), file('https://example.com/a.pdf')] },
    { role: 'assistant', content: null, tool_calls: [signed, { ...signed, id: 'd', extra_content: 7 }] },
  ]
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/import', { format: 'openai', messages })
  const [said] = await exportLines(get, 's')
  const kept = { type: 'file', media_type: 'application/pdf', filename: 'a.pdf', data: base64 }
  expect(said?.parts).toMatchObject([...written.map(() => kept), { type: 'text', text: '[file: a.pdf]' }])
  const openai = (await (await get('/v1/sessions/s/export?format=openai')).text()).trimEnd().split('\n')
  const calls = openai.flatMap((line) => (JSON.parse(line) as { tool_calls?: object[] }).tool_calls ?? [])
  expect(calls).toEqual([signed, { ...signed, id: 'd', extra_content: undefined }])
})

test('call ids, users and file names are accepted at any length', async () => {
  const id = `call_1__thought__${'A'.repeat(3_000)}`
  const file = {
    type: 'file',
    mediaType: 'text/plain',
    filename: `${'f'.repeat(300)}.txt`,
    data: Buffer.from('x'),
  } as const
  harness = await openHttpHarness({
    script: [{ calls: [{ name: 'look', id }] }, { text: 'done' }],
    tools: [makeTool('look', async () => ({ text: 'found', media: [file] }))],
  })
  for (const session of ['s', 'copy', 'chat']) await expectJson(harness, 201, 'POST', '/v1/sessions', { id: session })
  const named = { role: 'user', content: 'Hello', name: 'a'.repeat(300) }
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/import', { format: 'openai', messages: [named] })
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'go' })
  const messages = await exportLines(get, 's')
  await expectJson(harness, 200, 'POST', '/v1/sessions/copy/import', { format: 'native', messages })
  expect((await exportLines(get, 'copy')).map(comparable)).toEqual(messages.map(comparable))
  const said = (await (await get('/v1/sessions/s/export?format=openai')).text()).trimEnd().split('\n')
  const chat = said.map((line) => JSON.parse(line) as { role: string }).filter(({ role }) => role !== 'system')
  await expectJson(harness, 200, 'POST', '/v1/sessions/chat/import', { format: 'openai', messages: chat })
  expect((await exportLines(get, 'chat')).find(({ role }) => role === 'tool')).toMatchObject({ tool_call_id: id })
})
