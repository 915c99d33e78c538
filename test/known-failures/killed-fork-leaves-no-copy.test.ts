/*
 * A fork whose process was killed leaves no session behind: the same request made again creates one copy. Today the
 * session is created before the log is copied. Its id is generated, so the repeated request creates another session, and
 * the first one stays with a part of the log.
 * Suite: test/http/v1/transfer/export-and-fork.test.ts
 */
import { afterEach, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../http/harness.ts'
import type { HttpHarness } from '../http/harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

async function sessionsAfterForks(isKilled: boolean): Promise<number> {
  let isDying = false
  harness = await openHttpHarness({
    script: [{ text: 'Hello.' }],
    change: (ports) => ({
      ...ports,
      imports: {
        ...ports.imports,
        append: async (...given) => {
          if (isDying) throw new Error('the process was killed')
          return ports.imports.append(...given)
        },
      },
    }),
  })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hi' })
  isDying = isKilled
  if (isKilled) {
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', body: '{}', headers }
    await harness.program.app.request('http://localhost:3000/v1/sessions/s/fork', request)
  }
  isDying = false
  await expectJson(harness, 201, 'POST', '/v1/sessions/s/fork', {})
  return (await expectJson<{ data: unknown[] }>(harness, 200, 'GET', '/v1/sessions')).data.length
}

test('a fork creates one session', async () => expect(await sessionsAfterForks(false)).toBe(2))
test.fails('a fork that is repeated after a kill creates one session', async () =>
  expect(await sessionsAfterForks(true)).toBe(2))
