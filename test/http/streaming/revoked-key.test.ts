import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { MockInstance } from 'vitest'
import { serveHttp } from '../../../functions/runtime/local/http-server.ts'
import type { HttpServer } from '../../../functions/runtime/local/http-server.ts'
import type { Ports } from '../../../functions/runtime/program.ts'
import { openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

let harness: HttpHarness
let server: HttpServer
let headers: { readonly authorization: string }
/** Called before each read of the log or of an output. */
let beforeRead: () => Promise<void>
/** Warnings and errors of the local server. */
let printed: MockInstance

/** Ports with a fast clock: the keys of open streams are checked every 50 ms instead of every 5 s. */
const impatient = (ports: Ports): Ports => ({
  ...ports,
  clock: { ...ports.clock, sleep: (time, signal) => ports.clock.sleep(time === 5_000 ? 50 : time, signal) },
  outputs: { ...ports.outputs, read: async (...of) => (await beforeRead(), ports.outputs.read(...of)) },
  reader: { ...ports.reader, messages: async (...of) => (await beforeRead(), ports.reader.messages(...of)) },
})

beforeEach(async () => {
  printed = vi.spyOn(console, 'error')
  beforeRead = async () => undefined
  harness = await openHttpHarness({ change: impatient })
  server = await serveHttp(harness.program.app.fetch, { port: 0, host: '127.0.0.1' }, () => false)
  headers = await harness.key()
  await send('/v1/sessions', { id: 's' })
})
afterEach(async () => {
  printed.mockRestore()
  void server.drain()
  await server.close()
  await harness.close()
})

const send = (path: string, body?: object): Promise<Response> =>
  fetch(`${server.url}${path}`, {
    headers: { ...headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })

/** Stores a file and a log that each need several reads. Returns their addresses. */
async function longThings(): Promise<{ readonly export: string; readonly download: string }> {
  const data = Buffer.alloc(2_000_000, 'x').toString('base64')
  const file = { type: 'file', media_type: 'application/octet-stream', filename: 'a.bin', data }
  const run = await send('/v1/sessions/s/messages', { content: [{ type: 'text', text: 'keep it' }, file] })
  const { messages } = (await run.json()) as { messages: { parts: { url?: string }[] }[] }
  const said = Array.from({ length: 300 }, () => ({ role: 'user', content: 'y'.repeat(1_000) }))
  await send('/v1/sessions/s/import', { format: 'openai', messages: said })
  return { export: '/v1/sessions/s/export', download: messages[0]?.parts[1]?.url ?? '' }
}

/** Sends a GET, and returns the response. The second read of the log or of an output waits until `then` is done. */
async function interrupted(path: string, then: () => Promise<void>): Promise<Uint8Array> {
  let reads = 0
  beforeRead = async () => {
    if (++reads === 2) await then()
  }
  return (await send(path)).bytes()
}

const brokenOff = () => harness.lines.filter(({ message }) => message === 'a response broke off')

test.each(['export', 'download'] as const)(
  'the %s is aborted when its key is revoked, with a line in the log',
  async (what) => {
    const { [what]: path } = await longThings()
    const revoked = async (): Promise<void> => {
      await harness.ports.keys.revoke('key_1', 1)
      await sleep(200)
    }
    await expect(interrupted(path, revoked)).rejects.toThrow()
    const fields = { request_id: expect.any(String) as string, reason: 'this API key has been revoked, or has expired' }
    expect(brokenOff()).toEqual([{ level: 'info', message: 'a response broke off', fields }])
    expect(printed).not.toHaveBeenCalled()
  },
)

test.each(['export', 'download'] as const)(
  'the %s is aborted if reading fails, with the reason in the log',
  async (what) => {
    const { [what]: path } = await longThings()
    await expect(interrupted(path, () => Promise.reject(new Error('the disk is gone')))).rejects.toThrow()
    expect(brokenOff()).toMatchObject([{ level: 'error', fields: { cause: { message: 'the disk is gone' } } }])
    expect(printed).not.toHaveBeenCalled()
  },
)
