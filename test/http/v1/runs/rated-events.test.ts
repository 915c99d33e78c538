import { afterEach, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

test.each([false, true])(
  'the events of a run are equal before and after a rating (read before: %s)',
  async (isRead) => {
    harness = await openHttpHarness({ script: [{ text: 'hello' }] })
    const key = { tenant: 'default', session: 's' }
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
    const { id } = await expectJson<{ id: string }>(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hi' })
    const events = async (): Promise<string> => (await harness.send('GET', `/v1/sessions/s/runs/${id}/events`)).text()
    const before = isRead ? await events() : undefined
    const { messages } = await harness.ports.reader.messages(key, { order: 'descending', limit: 1 })
    await harness.ports.feedback.give(key, messages[0]?.id ?? '', { rating: 'negative', user: 'ann', at: 5 })
    const after = await events()
    expect(after).toBe(before ?? after)
    expect(after).not.toContain('negative')
  },
)
