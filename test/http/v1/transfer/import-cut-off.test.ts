/* Evidence, imports: An import that is aborted at any point and repeated loses nothing and stores nothing twice. */
import { afterEach, describe, expect, test } from 'vitest'
import type { LogImport } from '../../../../functions/ports/log-import.ts'
import { comparable, exportLines } from '../../../e2e/backend/exported.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

/** A log of five steps. One of its rounds is longer than a step. */
const MESSAGES = Array.from({ length: 60 }, (_, turn) => {
  const count = turn === 30 ? 100 : turn % 3
  const calls = Array.from({ length: count }, (_unused, n) => ({
    id: `c${n}`,
    type: 'function',
    function: { name: 'look', arguments: `{"n": ${n}}` },
  }))
  return [
    { role: 'user', content: `question ${turn}` },
    { role: 'assistant', content: null, tool_calls: calls },
    ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: `result ${turn} ${id}` })),
    { role: 'assistant', content: `answer ${turn}`, created_at: '2025-03-01T10:00:00Z' },
  ]
}).flat()

const importAll = (session: string, status: number, more: object, headers = {}): Promise<object> =>
  expectJson(
    harness,
    status,
    'POST',
    `/v1/sessions/${session}/import`,
    { format: 'openai', messages: MESSAGES, ...more },
    headers,
  )
const logOf = async (session: string): Promise<unknown[]> =>
  (await exportLines(async (path) => harness.send('GET', path), session)).map((one) =>
    comparable({ ...one, created_at: '' }),
  )

describe('an aborted import', () => {
  test.each([
    ['under a key', {}, { 'idempotency-key': 'k' }],
    ['with its place in a source', { source: 's', from: 0 }, {}],
  ])(
    '%s stores everything once when it is repeated, wherever it was aborted',
    async (_how, more, headers) => {
      let used = 0
      const fault = { at: 0, when: 'before' as 'before' | 'after' }
      harness = await openHttpHarness({ change: (ports) => ({ ...ports, imports: faulty(ports.imports) }) })
      await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'whole' })
      const whole = (await importAll('whole', 200, {})) as { messages: number }
      const log = await logOf('whole')
      expect(log).toHaveLength(whole.messages)
      const steps = used
      expect(steps).toBeGreaterThan(4)
      for (let at = 1; at <= steps; at++)
        for (const when of ['before', 'after'] as const) {
          const session = `cut-${at}-${when}`
          await expectJson(harness, 201, 'POST', '/v1/sessions', { id: session })
          Object.assign(fault, { at: used + at, when })
          await importAll(session, 500, more, headers)
          const left = await logOf(session)
          expect(left).toEqual(log.slice(0, left.length))
          expect(left.length < log.length || (at === steps && when === 'after')).toBe(true)
          await importAll(session, 200, more, headers)
          await importAll(session, 200, more, headers)
          expect(await logOf(session), session).toEqual(log)
          const runs = await expectJson<{ data: unknown[] }>(
            harness,
            200,
            'GET',
            `/v1/sessions/${session}/runs?limit=100`,
          )
          expect(runs.data, session).toHaveLength(60)
        }

      /** Wraps the port so that one step fails: before its write, or after it, with only the response lost. */
      function faulty(port: LogImport): LogImport {
        return {
          progress: (key, name) => port.progress(key, name),
          async append(seen, step) {
            const breaks = ++used === fault.at
            if (breaks && fault.when === 'before') throw new Error('cut off')
            const after = await port.append(seen, step)
            if (breaks) throw new Error('cut off')
            return after
          },
        }
      }
    },
    120_000,
  )
})

test('each step fits a transaction of DynamoDB, however short the turns are', async () => {
  const rows: number[] = []
  harness = await openHttpHarness({
    change: (ports) => ({
      ...ports,
      imports: {
        progress: (key, name) => ports.imports.progress(key, name),
        append: (seen, step) => {
          rows.push(step.messages.length + step.runs.length)
          return ports.imports.append(seen, step)
        },
      },
    }),
  })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'short' })
  const messages = Array.from({ length: 200 }, (_, turn) => [
    { role: 'user', content: `question ${turn}` },
    ...(turn % 3 === 0 ? [] : [{ role: 'assistant', content: `answer ${turn}` }]),
  ]).flat()
  await expectJson(harness, 200, 'POST', '/v1/sessions/short/import', { format: 'openai', messages })
  // The transaction also writes the session's header, the import's name and an expiry. Its limit is 100 items.
  expect(Math.max(...rows)).toBeLessThanOrEqual(90)
  expect(Math.max(...rows)).toBeGreaterThan(70)
  await importAll('short', 200, {})
  expect(Math.max(...rows)).toBeLessThanOrEqual(90)
})

test("completing an aborted fork requires a key for its agent, and binds the fork to the key's owner", async () => {
  let isCut = true
  harness = await openHttpHarness({
    change: (ports) => ({
      ...ports,
      imports: {
        ...ports.imports,
        append: async (seen, step) => {
          if (isCut && seen.session === 'f') throw new Error('cut off')
          return ports.imports.append(seen, step)
        },
      },
    }),
  })
  const admin = await harness.key()
  const fork = (status: number, key: Record<string, string>): Promise<object> =>
    expectJson(harness, status, 'POST', '/v1/sessions/s/fork', { id: 'f' }, key)
  const moveTo = (agent: string): Promise<object> =>
    expectJson(harness, 200, 'PATCH', '/v1/sessions/f', { agent }, admin)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's', owner: 'bob' }, admin)
  const said = { format: 'openai', messages: [{ role: 'user', content: 'a question' }] }
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/import', said, admin)
  await fork(500, admin)
  isCut = false
  await moveTo('other')
  const bob = await harness.key({ owner: 'bob', agents: ['default'] })
  await fork(403, bob)
  await expectJson(harness, 403, 'POST', '/v1/sessions/f/import', said, bob)
  await moveTo('default')
  await fork(201, bob)
  expect(await harness.ports.sessions.read({ tenant: 'default', session: 'f' })).toMatchObject({ ownerBound: true })
  await fork(409, bob)
})
