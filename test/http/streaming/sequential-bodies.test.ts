/* Evidence, limits: Clients that read nothing share a bounded memory budget, and health checks still get a response. */
/* Evidence, limits: Unread data is bounded for each tenant and over all clients. A stream ends after its key is revoked. */
import { expect, test } from 'vitest'
import { createSharedBytes } from '../../../functions/http/streaming/response-bodies.ts'
import type { LongTexts } from '../../../functions/http/streaming/response-bodies.ts'

const MB = 1024 * 1024
const text = (letter: string): string => letter.repeat(MB)
const isPending = async (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([promise.then(() => false), new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 20))])

const TENANT = 'acme'
const texts = (most: number) => createSharedBytes({ most, mostOfTenant: most }).of(TENANT)

/** Returns a stream of these texts. `count.made` counts the texts that were built. */
function streamOf(shared: LongTexts, each: readonly string[], count = { made: 0 }) {
  return shared.sequential(0, async (place: number) => {
    count.made++
    return { text: each[place] ?? '', next: place + 1 < each.length ? place + 1 : undefined }
  })
}

async function readAll(pieces: ReturnType<typeof streamOf>): Promise<string> {
  const read: Uint8Array[] = []
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) read.push(next.value)
  return Buffer.concat(read).toString()
}

test('short, long and empty texts are sent completely and in order', async () => {
  const each = ['first ', text('é'), '', 'last']
  expect(await readAll(streamOf(texts(64 * MB), each))).toBe(each.join(''))
  expect(await readAll(streamOf(texts(64 * MB), ['']))).toBe('')
})

test('any number of stalled clients share one text in memory; a longer text waits for budget', async () => {
  const shared = texts(1.5 * MB)
  const same = Array.from({ length: 50 }, () => streamOf(shared, [text('a')]))
  const pieces = await Promise.all(same.map((one) => one.next()))
  expect(new Set(pieces.map(({ value }) => value?.buffer)).size).toBe(1)
  const other = streamOf(shared, [text('b')])
  const piece = other.next()
  const short = await readAll(streamOf(shared, ['not long']))
  expect(short).toBe('not long')
  expect(await isPending(piece)).toBe(true)
  await Promise.all(same.map((one) => one.return()))
  expect((await piece).value?.[0]).toBe('b'.charCodeAt(0))
})

test('waiting clients get budget in order, and a client that left is skipped', async () => {
  const shared = texts(1.5 * MB)
  const first = streamOf(shared, [text('a')])
  await first.next()
  const count = { made: 0 }
  const waiting = ['b', 'c', 'd'].map((letter) => streamOf(shared, [text(letter)], count))
  const pieces = waiting.map((one) => one.next())
  // On a busy machine, a text that is not built yet could overtake the waiting texts.
  await expect.poll(() => count.made).toBe(3)
  expect(await isPending(Promise.race(pieces))).toBe(true)
  await waiting[0]?.return()
  await first.return()
  expect((await pieces[0])?.done).toBe(true)
  expect((await pieces[1])?.value?.[0]).toBe('c'.charCodeAt(0))
  await waiting[1]?.return()
  expect((await pieces[2])?.value?.[0]).toBe('d'.charCodeAt(0))
})

test('a client that leaves while its text is built holds no budget', async () => {
  const shared = texts(1.5 * MB)
  const leaving = streamOf(shared, [text('a')])
  const piece = leaving.next()
  await leaving.return()
  expect((await piece).done).toBe(true)
  shared.assertBudget(1.5 * MB)
})

test('a text that cannot be built aborts only its own stream', async () => {
  const shared = texts(64 * MB)
  const broken = shared.sequential(0, () => Promise.reject(new Error('no')))
  const whole = streamOf(shared, ['whole'])
  await expect(broken.next()).rejects.toThrow('no')
  expect(await readAll(whole)).toBe('whole')
})

test('if a text cannot be built when its client gets budget, the next client gets this budget', async () => {
  const shared = texts(1.5 * MB)
  const first = streamOf(shared, [text('a')])
  await first.next()
  let made = 0
  const broken = shared.sequential(0, async () => {
    if (++made > 1) throw new Error('no')
    return { text: text('b'), next: undefined }
  })
  const failing = broken.next()
  const count = { made: 0 }
  const next = streamOf(shared, [text('c')], count).next()
  await expect.poll(() => [made, count.made]).toEqual([1, 1])
  expect(await isPending(Promise.race([failing, next]))).toBe(true)
  await first.return()
  await expect(failing).rejects.toThrow('no')
  expect((await next).value?.[0]).toBe('c'.charCodeAt(0))
})

test('a later client does not take the budget that the first waiting client needs', async () => {
  const shared = texts(2.5 * MB)
  const [first, second] = [streamOf(shared, [text('a')]), streamOf(shared, [text('b')])]
  await Promise.all([first.next(), second.next()])
  const count = { made: 0 }
  const waiting = streamOf(shared, [text('c').repeat(2)], count)
  const piece = waiting.next()
  await expect.poll(() => count.made).toBe(1)
  await first.return()
  // The budget has space for a text of this length.
  const late = streamOf(shared, [text('d')], count)
  const later = late.next()
  await expect.poll(() => count.made).toBe(2)
  expect(() => shared.assertBudget(MB)).toThrow('unread')
  expect(await isPending(Promise.race([piece, later]))).toBe(true)
  await second.return()
  expect((await piece).value?.[0]).toBe('c'.charCodeAt(0))
  await waiting.return()
  expect((await later).value?.[0]).toBe('d'.charCodeAt(0))
  await late.return()
  shared.assertBudget(2.5 * MB)
})

test('a text that grew in the queue waits again, and a text that shrank returns the unused budget', async () => {
  const shared = texts(2.5 * MB)
  const first = streamOf(shared, [text('a').repeat(2)])
  await first.next()
  let made = 0
  const grows = shared.sequential(0, async () => ({ text: text('b').repeat(made++ === 0 ? 1 : 2), next: undefined }))
  const shrinks = shared.sequential(0, async () => ({ text: made++ === 1 ? text('c') : 'short', next: undefined }))
  const grown = grows.next()
  await expect.poll(() => made).toBe(1)
  const short = shrinks.next()
  await expect.poll(() => made).toBe(2)
  await first.return()
  expect((await short).value?.toString()).toBe('short')
  expect((await grown).value?.[0]).toBe('b'.charCodeAt(0))
  await Promise.all([grows.return(), shrinks.return()])
  shared.assertBudget(2.5 * MB)
})

test('waiting clients of one tenant do not delay those of other tenants', async () => {
  const all = createSharedBytes({ most: 3 * MB, mostOfTenant: 1.5 * MB })
  const [one, other] = [all.of('one'), all.of('other')]
  const first = streamOf(one, [text('a')])
  await first.next()
  const count = { made: 0 }
  const waiting = ['b', 'c'].map((letter) => streamOf(one, [text(letter)], count))
  const pieces = waiting.map((stream) => stream.next())
  await expect.poll(() => count.made).toBe(2)
  const held = streamOf(other, [text('d')])
  await held.next()
  const behind = streamOf(other, [text('e')], count)
  const piece = behind.next()
  await expect.poll(() => count.made).toBe(3)
  expect(await isPending(Promise.race([...pieces, piece]))).toBe(true)
  await held.return()
  expect((await piece).value?.[0]).toBe('e'.charCodeAt(0))
  await Promise.all([first, behind].map((stream) => stream.return()))
  expect((await pieces[0])?.value?.[0]).toBe('b'.charCodeAt(0))
  await Promise.all(waiting.map((stream) => stream.return()))
})
