/*
 * `GET …/messages?format=openai` shows what the next request would hold (promises R6), in which a number means one source of the
 * session (promises R10). Today results of an import without recorded numbers are numbered page by page from the same start: two
 * pages give the same number to different sources.
 *
 * Suite: test/http/v1/
 */
import { afterEach, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../http/harness.ts'
import type { HttpHarness } from '../http/harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

test.fails('pages of a listing give each source its own number', async () => {
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
  const shown: string[] = []
  for (let after = ''; ;) {
    const path = `/v1/sessions/s/messages?format=openai&limit=20${after === '' ? '' : `&after=${after}`}`
    const page = await expectJson<{ data: { content?: string }[]; next: string | null }>(harness, 200, 'GET', path)
    for (const { content } of page.data)
      shown.push(...(JSON.stringify(content ?? '').match(/\[source\d+\] page \d+/g) ?? []))
    if (page.next === null) break
    after = page.next
  }
  expect(shown.length).toBe(30)
  expect(new Set(shown.map((one) => one.split(' ')[0])).size).toBe(30)
})
