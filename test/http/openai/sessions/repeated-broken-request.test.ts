/* Evidence, clients: A repeated turn in a named session is one run, even if its first request was interrupted at any write. */
import { afterEach, expect, test } from 'vitest'
import type { Ports } from '../../../../functions/runtime/program.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../../harness.ts'
import { logOf } from '../openai-client.ts'

let harness: HttpHarness | undefined
const close = async (): Promise<void> => {
  const open = harness
  harness = undefined
  await open?.close()
}
afterEach(close)

/** The fault of a request: the process appears to die before or after the write with the number `at`. */
const fault = { used: 0, at: 0, when: 'before' as 'before' | 'after' }
async function breaking<Result>(write: () => Promise<Result>): Promise<Result> {
  const breaks = ++fault.used === fault.at
  if (breaks && fault.when === 'before') throw new Error('cut off')
  const result = await write()
  if (breaks) throw new Error('cut off')
  return result
}
const faulty = (ports: Ports): Ports => ({
  ...ports,
  names: { ...ports.names, give: (...given) => breaking(() => ports.names.give(...given)) },
  inbox: { ...ports.inbox, enqueue: (...given) => breaking(() => ports.inbox.enqueue(...given)) },
  sessions: { ...ports.sessions, create: (...given) => breaking(() => ports.sessions.create(...given)) },
})

const said = (content: string) => ({ role: 'user', content })
const bodies = {
  'with earlier messages': [said('Hi'), { role: 'assistant', content: 'Hello.' }, said('Do it')],
  'without earlier messages': [said('Do it')],
}

/**
 * Sends the messages, and returns the status and the run. `leaves`: whether the client disconnects as soon as the response
 * begins.
 */
async function send(messages: readonly object[], retries: number, leaves = false): Promise<[number, string | null]> {
  if (harness === undefined) throw new Error('no program is open')
  const headers = { 'x-session-id': 'job', 'x-stainless-retry-count': String(retries) }
  const response = await harness.send(
    'POST',
    '/openai/v1/chat/completions',
    { model: 'default', messages: [...messages], stream: true },
    headers,
  )
  await (leaves ? response.body?.cancel() : response.text())
  return [response.status, response.headers.get('x-run-id')]
}

test.each(Object.entries(bodies))(
  'a repeated turn %s is stored once, whichever of its writes was interrupted',
  async (_what, messages) => {
    harness = await openHttpHarness({ change: faulty })
    Object.assign(fault, { used: 0, at: 0 })
    await send(messages, 0)
    const writes = fault.used
    expect(writes).toBe(4)
    for (let at = 1; at <= writes; at++)
      for (const when of ['before', 'after'] as const) {
        await close()
        harness = await openHttpHarness({ change: faulty })
        Object.assign(fault, { used: 0, at, when })
        const name = `write ${at}, ${when}`
        const first = await send(messages, 0)
        // The last write only records that the response was sent completely.
        expect(first[0], name).toBe(at === writes ? 200 : 500)
        if (at === writes && when === 'after') continue
        Object.assign(fault, { used: 0, at: 0 })
        // A dead process's run continues after its lease expires. This test does not wait so long.
        const again = await send(messages, 1, at === 3 && when === 'after')
        expect(again[0], name).toBe(200)
        if (at === writes) expect(again, name).toEqual(first)
        const reported = (await logOf(harness, 'job')).filter(({ role }) => role === 'user')
        expect(reported, name).toHaveLength(messages.length === 1 ? 1 : 2)
        const runs = await expectJson<{ data: object[] }>(harness, 200, 'GET', '/v1/sessions/job/runs')
        expect(runs.data, name).toHaveLength(messages.length === 1 ? 1 : 2)
      }
  },
  60_000,
)
