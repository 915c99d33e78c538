import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectJson, heldTurn, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

/** One request more than a key may have open at a time (`functions/access/open-requests.ts`). */
const TOO_MANY = 257
let harness: HttpHarness
let key: Record<string, string>
const reads: string[] = []

beforeEach(async () => {
  harness = await openHttpHarness({
    script: [{ text: 'hi' }],
    change: (ports) => ({
      ...ports,
      reader: {
        ...ports.reader,
        messages: (session, query) => {
          reads.push('messages')
          return ports.reader.messages(session, query)
        },
      },
    }),
  })
  key = await harness.key()
})
afterEach(() => harness.close())

/** Returns the statuses of this many HEAD requests, sent one after another. */
async function heads(path: string, count: number): Promise<Set<number>> {
  const statuses = new Set<number>()
  for (let n = 0; n < count; n++) statuses.add((await harness.send('HEAD', path, undefined, key)).status)
  return statuses
}

describe('a HEAD request', () => {
  test('on an event stream returns the headers, and uses no stream slot of its key', async () => {
    const made = await harness.send('POST', '/openai/v1/responses', { model: 'default', input: 'hi' }, key)
    const [session, run] = [made.headers.get('x-session-id'), made.headers.get('x-run-id')]
    for (const path of [`/v1/sessions/${session}/runs/${run}/events`, `/openai/v1/responses/resp_${run}?stream=true`])
      expect([path, ...(await heads(path, TOO_MANY))]).toEqual([path, 200])
    const response = await harness.send('HEAD', `/v1/sessions/${session}/runs/${run}/events`, undefined, key)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(await response.text()).toBe('')
  })

  test('on a chat stream uses no stream slot, although the run continues', async () => {
    const held = heldTurn()
    await harness.close()
    harness = await openHttpHarness({ script: [held.turn] })
    key = await harness.key()
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' }, key)
    const later = { ...key, prefer: 'respond-async' }
    await expectJson(harness, 202, 'POST', '/v1/sessions/s/messages', { content: 'hi' }, later)
    await expect.poll(() => harness.requests.length).toBe(1)
    expect(await heads('/v1/chat/s/stream', TOO_MANY)).toEqual(new Set([200]))
    held.letGo()
  })

  test('on an export does not read the log', async () => {
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' }, key)
    await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hi' }, key)
    reads.length = 0
    expect(await heads('/v1/sessions/s/export', 3)).toEqual(new Set([200]))
    expect(reads).toEqual([])
  })
})
