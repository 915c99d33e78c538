/* Evidence, limits: Clients that read nothing share a bounded memory budget, and health checks still get a response. */
/* Evidence, limits: Followers of a run share its messages and frames. A slow follower has no buffer of its own. */
/* Evidence, limits: While a follower waits for a run to start, the run's input is not kept in memory. */
/* Evidence, limits: Unread data is bounded for each tenant and over all clients. A stream ends after its key is revoked. */
import { expect, test } from 'vitest'
import { bodyOf, createSharedBytes } from '../../../functions/http/streaming/response-bodies.ts'

const PIECE = 16 * 1024
const TENANT = 'acme'
const TEXT = 'ä'.repeat(100_000)

async function whole(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const found: Uint8Array[] = []
  for await (const piece of pieces) found.push(piece)
  return Buffer.concat(found).toString()
}

test('a text is sent completely, in chunks of 16 KB', async () => {
  const shared = createSharedBytes().of(TENANT)
  const lengths: number[] = []
  for await (const piece of shared.pieces(TEXT)) lengths.push(piece.length)
  expect(Math.max(...lengths)).toBe(PIECE)
  for (const text of ['', 'short', TEXT, 'x'.repeat(PIECE), 'x'.repeat(PIECE * 3)])
    expect(await whole(shared.pieces(text))).toBe(text)
})

test('clients that receive equal text share its bytes', async () => {
  const shared = createSharedBytes().of(TENANT)
  const first = await Promise.all([1, 2, 3].map(() => shared.pieces(TEXT).next()))
  const buffers = first.map(({ value }) => (value as Uint8Array | undefined)?.buffer)
  expect(new Set(buffers).size).toBe(1)
})

test('the unread bytes of all clients together are limited, and a leaving client releases its bytes', async () => {
  const all = createSharedBytes({ most: 500_000, mostOfTenant: 500_000 })
  const shared = all.of(TENANT)
  const slow = bodyOf(shared.pieces(TEXT)).getReader()
  await slow.read()
  shared.assertBudget(300_000)
  expect(all.isCrowded()).toBe(false)
  expect(() => shared.assertBudget(300_001)).toThrow(expect.objectContaining({ status: 503, code: 'busy' }) as Error)
  const other = shared.pieces('b'.repeat(400_000))
  await expect(other.next()).rejects.toMatchObject({ code: 'busy' })
  const third = bodyOf(shared.pieces('c'.repeat(100_000))).getReader()
  await third.read()
  expect(all.isCrowded()).toBe(true)
  await third.cancel()
  // This text counts once, whatever the number of its readers. It is already counted for `slow`.
  expect(await whole(shared.pieces(TEXT))).toBe(TEXT)
  await slow.cancel()
  shared.assertBudget(500_000)
  expect(await whole(shared.pieces('b'.repeat(400_000)))).toHaveLength(400_000)
})

test("one tenant's unread bytes do not block texts of other tenants", async () => {
  const all = createSharedBytes({ most: 500_000, mostOfTenant: 250_000 })
  const slow = bodyOf(all.of(TENANT).pieces(TEXT)).getReader()
  await slow.read()
  expect(() => all.of(TENANT).assertBudget(100_000)).toThrow('unread')
  expect(await whole(all.of('other').pieces(TEXT))).toBe(TEXT)
  expect(await whole(all.of('other').pieces('d'.repeat(250_000)))).toHaveLength(250_000)
  // A text shared between tenants would be charged to the tenant that reads it first.
  const same = bodyOf(all.of('other').pieces(TEXT)).getReader()
  await same.read()
  await slow.cancel()
  all.of(TENANT).assertBudget(250_000)
  await same.cancel()
})

test('a text larger than the limit is sent if no other text is unread', async () => {
  const shared = createSharedBytes({ most: 1_000, mostOfTenant: 500 }).of(TENANT)
  expect(await whole(shared.pieces(TEXT))).toBe(TEXT)
})

test('a named text is built once for all clients that request it shortly after each other', async () => {
  const shared = createSharedBytes().of(TENANT)
  let [made, taken] = [0, 0]
  const named = {
    name: 'a:b',
    make: () => {
      made++
      return TEXT
    },
    taken: () => void taken++,
  }
  for (let client = 0; client < 3; client++) expect(await whole(shared.pieces(named))).toBe(TEXT)
  const [one, other] = [shared.pieces(named), shared.pieces(named)]
  expect((await one.next()).value?.buffer).toBe((await other.next()).value?.buffer)
  expect([made, taken]).toEqual([1, 5])
})

test('other work runs between two chunks of a body, however fast the client reads', async () => {
  const pieces = Array.from({ length: 50 }, () => new Uint8Array(16 * 1024))
  const reader = bodyOf(
    (async function* () {
      yield* pieces
    })(),
  ).getReader()
  let [turns, ended] = [0, false]
  const others = (): void => {
    turns++
    if (!ended) setImmediate(others)
  }
  setImmediate(others)
  while (!(await reader.read()).done);
  ended = true
  expect(turns).toBeGreaterThanOrEqual(pieces.length - 1)
})
