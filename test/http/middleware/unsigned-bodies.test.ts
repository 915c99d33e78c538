/* Evidence, limits: Unsigned bodies and silent connections do not prevent requests of other clients. */
import { expect, test } from 'vitest'
import { createUnsignedBodies } from '../../../functions/http/middleware/unsigned-bodies.ts'
import type { UnsignedBodies } from '../../../functions/http/middleware/unsigned-bodies.ts'

const KB = 1024
const LIMITS = { maxBytes: 400 * KB, maxEndpointBytes: 300 * KB, maxSenderBytes: 200 * KB }

interface SlowBody {
  readonly outcome: Promise<unknown>
  isOver: boolean
  send(bytes: number): Promise<void>
  end(): void
}

/** A body that the test sends in steps. The outcome of the body is the number of bytes read, or an error. */
function open(bodies: UnsignedBodies, endpoint: string, sender: string | undefined): SlowBody {
  const { readable, writable } = new TransformStream<Uint8Array>()
  const writer = writable.getWriter()
  writer.closed.catch(() => undefined)
  const read = async (): Promise<unknown> => {
    try {
      return (await new Response(bodies.read(readable, { endpoint, sender })).arrayBuffer()).byteLength
    } catch (error) {
      return error
    } finally {
      body.isOver = true
    }
  }
  const body: SlowBody = {
    isOver: false,
    send: (bytes) => writer.write(new Uint8Array(bytes)).catch(() => undefined),
    end: () => void writer.close().catch(() => undefined),
    outcome: Promise.resolve().then(read),
  }
  return body
}

/** Sends a whole body at once. */
function send(bodies: UnsignedBodies, bytes: number, endpoint: string, sender: string | undefined): Promise<unknown> {
  const body = open(bodies, endpoint, sender)
  void body.send(bytes).then(body.end)
  return body.outcome
}

const busy = { status: 503, code: 'busy' }

test.each<[string, (place: number) => [endpoint: string, sender: string | undefined]]>([
  ['of one sender', (place: number) => [`/webhooks/${place}`, 'a']],
  ['for one webhook', (place: number) => ['/webhooks/hook', String(place)]],
  ['without a known sender', (place: number) => [`/webhooks/${place}`, undefined]],
])('slow bodies %s are aborted in favour of a fast one', async (_kind, originOf) => {
  const bodies = createUnsignedBodies(LIMITS)
  const slow = Array.from({ length: 8 }, (_, place) => open(bodies, ...originOf(place)))
  for (const body of slow) await body.send(45 * KB)
  for (let sent = 0; sent < 20; sent++) expect(await send(bodies, 150 * KB, ...originOf(0))).toBe(150 * KB)
  const over = slow.filter(({ isOver }) => isOver)
  expect(over.length).toBeGreaterThan(0)
  for (const { outcome } of over) expect(await outcome).toMatchObject(busy)
})

test('many bodies of one sender do not affect the body of another sender for another webhook', async () => {
  const bodies = createUnsignedBodies(LIMITS)
  const other = open(bodies, '/webhooks/other', 'b')
  await other.send(50 * KB)
  for (let sent = 0; sent < 10; sent++) void open(bodies, '/webhooks/hook', 'a').send(100 * KB)
  expect(await send(bodies, 100 * KB, '/webhooks/hook', 'a')).toBe(100 * KB)
  expect(other.isOver).toBe(false)
  other.end()
  expect(await other.outcome).toBe(50 * KB)
})

test('a body counts by its received bytes, and stops counting after it is read', async () => {
  const bodies = createUnsignedBodies(LIMITS)
  const slow = Array.from({ length: 50 }, () => open(bodies, '/webhooks/hook', 'a'))
  for (const body of slow) await body.send(3 * KB)
  for (let sent = 0; sent < 20; sent++) expect(await send(bodies, 40 * KB, '/webhooks/hook', 'a')).toBe(40 * KB)
  for (const body of slow) body.end()
  expect(await Promise.all(slow.map(({ outcome }) => outcome))).toEqual(slow.map(() => 3 * KB))
})
