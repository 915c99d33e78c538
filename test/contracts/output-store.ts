import { describe, expect, test } from 'vitest'
import { nextId } from '../../functions/domain/ids.ts'
import type { OutputStore } from '../../functions/ports/output-store.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const newName = (): string => nextId(undefined, Date.now())

/** Contract of every output store (functions/ports/output-store.ts). */
export function outputStoreContract(name: string, open: () => OutputStore | Promise<OutputStore>): void {
  describe(`${name} keeps the promises of an output store`, () => {
    let count = 0
    const newKey = () => ({ tenant: 'default', session: `s-${Date.now()}-${(count += 1)}` })

    describe('put and read', () => {
      const contents: Record<string, Uint8Array> = {
        empty: new Uint8Array(),
        'NUL and newlines': bytesOf('\n\0\n{"mediaType":"x"}\n\0'),
        'emoji and CJK': bytesOf('👩‍👩‍👧 検索 🇩🇪'),
        'bytes that are no UTF-8': Uint8Array.from([0xff, 0xfe, 0xed, 0xa0, 0x80, 0x00, 0x0a]),
        '3 MB': new Uint8Array(3_000_000).map((_, at) => at % 251),
      }
      test.each(Object.keys(contents))('a stored object is returned byte by byte: %s', async (kind) => {
        const store = await open()
        const [key, object, bytes] = [newKey(), newName(), contents[kind] ?? new Uint8Array()]
        await store.put(key, object, bytes, 'application/octet-stream')
        expect(Buffer.compare(await store.read(key, object), bytes)).toBe(0)
        expect(await store.stat(key, object)).toEqual({
          bytes: bytes.byteLength,
          mediaType: 'application/octet-stream',
        })
      })

      test('a name may carry a suffix', async () => {
        const store = await open()
        const [key, object] = [newKey(), newName()]
        await store.put(key, object, bytesOf('a'), 'text/plain')
        await store.put(key, `${object}.preview`, bytesOf('b'), 'text/plain')
        expect(textOf(await store.read(key, object))).toBe('a')
        expect(textOf(await store.read(key, `${object}.preview`))).toBe('b')
      })

      test('`stat` of a missing object returns undefined, and `read` rejects', async () => {
        const store = await open()
        const key = newKey()
        expect(await store.stat(key, newName())).toBeUndefined()
        await expect(store.read(key, newName())).rejects.toMatchObject({ code: 'output_not_found' })
      })

      test.each(['..', '../x', '%2e%2e', 'a/b', 'a\\b', '', 'x'.repeat(10_000), 'a\0b', 'incoming', 'con'])(
        'an invalid name is not found and cannot be stored: %j',
        async (hostile) => {
          const store = await open()
          const key = newKey()
          await expect(store.put(key, hostile, bytesOf('x'), 'text/plain')).rejects.toMatchObject({
            code: 'storage_failed',
            retryable: false,
          })
          await expect(store.read(key, hostile)).rejects.toMatchObject({ code: 'output_not_found' })
          expect(await store.stat(key, hostile)).toBeUndefined()
        },
      )

      test('sessions are separate, whatever their ids look like', async () => {
        const store = await open()
        const object = newName()
        const base = newKey()
        const keys = [
          base,
          { ...base, tenant: 'other' },
          { ...base, session: base.session.toUpperCase() },
          { ...base, session: `${base.session}.` },
          { ...base, session: `${base.session}:..` },
        ]
        for (const [at, key] of keys.entries()) await store.put(key, object, bytesOf(`content ${at}`), 'text/plain')
        for (const [at, key] of keys.entries()) expect(textOf(await store.read(key, object))).toBe(`content ${at}`)
      })
    })

    describe('a range', () => {
      test.each([
        [{ start: 0, end: 0 }, '0'],
        [{ start: 3, end: 5 }, '345'],
        [{ start: 8, end: 9 }, '89'],
        [{ start: 8, end: 1000 }, '89'],
        [{ start: 10, end: 20 }, ''],
      ])('reading %j of 0123456789 returns %j', async (range, expected) => {
        const store = await open()
        const [key, object] = [newKey(), newName()]
        await store.put(key, object, bytesOf('0123456789'), 'text/plain')
        expect(textOf(await store.read(key, object, range))).toBe(expected)
      })
    })

    describe('an existing name', () => {
      test('storing equal bytes again succeeds', async () => {
        const store = await open()
        const [key, object] = [newKey(), newName()]
        await store.put(key, object, bytesOf('same'), 'text/plain')
        await store.put(key, object, bytesOf('same'), 'text/plain')
        expect(textOf(await store.read(key, object))).toBe('same')
      })

      test('storing other bytes is rejected and changes nothing', async () => {
        const store = await open()
        const [key, object] = [newKey(), newName()]
        await store.put(key, object, bytesOf('first'), 'text/plain')
        await expect(store.put(key, object, bytesOf('other'), 'text/html')).rejects.toMatchObject({
          code: 'storage_failed',
          retryable: false,
        })
        expect(textOf(await store.read(key, object))).toBe('first')
        expect(await store.stat(key, object)).toEqual({ bytes: 5, mediaType: 'text/plain' })
      })

      test('one of many concurrent writers wins, and its complete content is stored', async () => {
        const store = await open()
        const [key, object] = [newKey(), newName()]
        const candidates = Array.from({ length: 8 }, (_, at) => String(at).repeat(100_000))
        const outcomes = await Promise.allSettled(
          candidates.map((content) => store.put(key, object, bytesOf(content), 'text/plain')),
        )
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
        expect(candidates[outcomes.findIndex(({ status }) => status === 'fulfilled')]).toBe(
          textOf(await store.read(key, object)),
        )
      })
    })

    test('removing an object keeps all others, and a repeated removal is no error', async () => {
      const store = await open()
      const [owner, first, second] = [newKey(), newName(), newName()]
      for (const name of [first, second]) await store.put(owner, name, Buffer.from(name), 'text/plain')
      for (let times = 0; times < 2; times++) await store.remove(owner, first)
      expect(await store.stat(owner, first)).toBeUndefined()
      expect(await store.stat(owner, second)).toBeDefined()
      await store.remove(owner, '../x')
      await store.put(owner, first, Buffer.from('anew'), 'text/plain')
      expect(Buffer.from(await store.read(owner, first)).toString()).toBe('anew')
      expect(await store.removeAll(owner)).toBe(2)
    })

    describe('removeAll', () => {
      test('removes all objects of the session, returns their count, and keeps those of other sessions', async () => {
        const store = await open()
        const [key, neighbour, object] = [newKey(), newKey(), newName()]
        await store.put(neighbour, object, bytesOf('stays'), 'text/plain')
        for (let at = 0; at < 25; at++) await store.put(key, newName(), bytesOf('goes'), 'text/plain')
        await store.put(key, object, bytesOf('goes'), 'text/plain')
        expect(await store.removeAll(key)).toBe(26)
        expect(await store.stat(key, object)).toBeUndefined()
        expect(textOf(await store.read(neighbour, object))).toBe('stays')
      })

      test('returns 0 for an empty session, which can be written afterwards', async () => {
        const store = await open()
        const [key, object] = [newKey(), newName()]
        expect(await store.removeAll(key)).toBe(0)
        await store.put(key, object, bytesOf('again'), 'text/plain')
        expect(await store.removeAll(key)).toBe(1)
        expect(await store.removeAll(key)).toBe(0)
      })
    })
  })
}
