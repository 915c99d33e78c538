/* Evidence, replay: On all pages of `format=openai`, a source has the same number. */
/*
 * `GET …/messages?format=openai` shows the content of the next request (promises R6). A number means one source of the session
 * (promises R10), on pages of any size.
 */
import { afterEach, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

test('pages of a listing give each source its own number', async () => {
  harness = await openHttpHarness({})
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const rounds = Array.from({ length: 30 }, (_, n) => [
    {
      role: 'assistant',
      parts: [{ type: 'tool_call', id: `c${n}` }],
      tool_calls: [{ id: `c${n}`, name: 'find', arguments: '{}' }],
    },
    {
      role: 'tool',
      tool_call_id: `c${n}`,
      parts: [{ type: 'text', text: `found ${n}` }],
      sources: [{ title: `page ${n}` }],
    },
  ])
  const messages = [{ role: 'user', parts: [{ type: 'text', text: 'look' }] }, ...rounds.flat()]
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/import', { format: 'native', messages })
  const expected = Array.from({ length: 30 }, (_, n) => `[source${n + 1}] page ${n}`)
  for (const limit of [1, 3, 20, 100]) expect(await sourcesInPages(limit)).toEqual(expected)
})

async function sourcesInPages(limit: number): Promise<string[]> {
  const shown: string[] = []
  for (let after = ''; ;) {
    const path = `/v1/sessions/s/messages?format=openai&limit=${limit}${after === '' ? '' : `&after=${after}`}`
    const page = await expectJson<{ data: { content?: string }[]; next: string | null }>(harness, 200, 'GET', path)
    for (const { content } of page.data)
      shown.push(...(JSON.stringify(content ?? '').match(/\[source\d+\] page \d+/g) ?? []))
    if (page.next === null) return shown
    after = page.next
  }
}
