import { createHash } from 'node:crypto'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { CreateBucketCommand, ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { beforeAll, describe, expect, test } from 'vitest'
import { createS3OutputStore } from '../../../functions/adapters/s3/output-store.ts'
import { nextId } from '../../../functions/domain/ids.ts'
import { outputStoreContract } from '../../contracts/output-store.ts'
import { s3Client } from '../../engines/clients.ts'
import { withEngines } from '../../engines/with-engines.ts'

const MB = 1024 * 1024
const newName = (): string => nextId(undefined, Date.now())
const text = (content: string): Uint8Array => new TextEncoder().encode(content)

withEngines(['s3'], ({ s3 }) => {
  const client = s3Client(s3)
  const bucket = `outputs-${crypto.randomUUID()}`
  const store = createS3OutputStore({ client, bucket })
  beforeAll(async () => void (await client.send(new CreateBucketCommand({ Bucket: bucket }))))

  outputStoreContract('s3', () => store)

  test('keys of objects contain no tenant and no session id', async () => {
    const key = { tenant: 'visible', session: 'Session:1' }
    await store.put(key, newName(), text('x'), 'text/plain')
    const prefix = `${createHash('sha256').update('visible\0Session:1').digest('hex')}/`
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }))
    expect(Contents).toHaveLength(1)
    expect(await store.removeAll(key)).toBe(1)
  })

  test('an output over 8 MB is uploaded in parts, keeps its type, and can be read in ranges', async () => {
    const key = { tenant: 'default', session: 'large' }
    const name = newName()
    const bytes = Buffer.alloc(20 * MB + 7, 'tooltrail ')
    await store.put(key, name, bytes, 'application/x-large')
    expect(await store.stat(key, name)).toEqual({ bytes: bytes.byteLength, mediaType: 'application/x-large' })
    expect(Buffer.compare(await store.read(key, name), bytes)).toBe(0)
    const part = await store.read(key, name, { start: 8 * MB - 3, end: 8 * MB + 3 })
    expect(Buffer.compare(part, bytes.subarray(8 * MB - 3, 8 * MB + 4))).toBe(0)
    await store.removeAll(key)
  })

  test('an upload in parts never overwrites an object, and leaves no parts if it is refused', async () => {
    const key = { tenant: 'default', session: 'large-taken' }
    const name = newName()
    const bytes = Buffer.alloc(9 * MB, 'a')
    await store.put(key, name, bytes, 'text/plain')
    await store.put(key, name, bytes, 'text/plain')
    const other = Buffer.alloc(9 * MB, 'b')
    await expect(store.put(key, name, other, 'text/plain')).rejects.toMatchObject({ code: 'storage_failed' })
    expect((await store.read(key, name, { start: 0, end: 0 }))[0]).toBe('a'.charCodeAt(0))
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
    expect(Uploads).toEqual([])
    await store.removeAll(key)
  })

  test('a session with more than a thousand objects is removed completely', async () => {
    const key = { tenant: 'default', session: 'many' }
    const names = Array.from({ length: 1005 }, newName)
    for (let at = 0; at < names.length; at += 50)
      await Promise.all(names.slice(at, at + 50).map((name) => store.put(key, name, text('x'), 'text/plain')))
    expect(await store.removeAll(key)).toBe(1005)
    expect(await store.removeAll(key)).toBe(0)
  })

  describe('a link', () => {
    const key = { tenant: 'default', session: 'linked' }
    const disposition = `attachment; filename="r_sum_.html"; filename*=UTF-8''r%C3%A9sum%C3%A9.html`
    async function linkTo(name: string): Promise<string> {
      await store.put(key, name, text('<script>alert(1)</script>'), 'text/html')
      return (await store.link(key, name, disposition)) ?? ''
    }

    test('downloads the object without credentials, as the requested attachment', async () => {
      const response = await fetch(await linkTo(newName()))
      expect(response.status).toBe(200)
      expect(await response.text()).toBe('<script>alert(1)</script>')
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'text/html',
        'content-disposition': disposition,
        'cache-control': 'private, no-store',
      })
    })

    test('expires after five minutes', async () => {
      const { searchParams } = new URL(await linkTo(newName()))
      expect(searchParams.get('X-Amz-Expires')).toBe('300')
      const signedAt = (searchParams.get('X-Amz-Date') ?? '').replace(
        /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/,
        '$1-$2-$3T$4:$5:$6Z',
      )
      expect(Math.abs(Date.parse(signedAt) - Date.now())).toBeLessThan(60_000)
    })

    test('opens only its own object, and only with its signed parameters', async () => {
      const [one, other] = [newName(), newName()]
      const link = await linkTo(one)
      await linkTo(other)
      const inline = new URL(link)
      inline.searchParams.set('response-content-disposition', 'inline')
      const longer = new URL(link)
      longer.searchParams.set('X-Amz-Expires', '86400')
      for (const changed of [link.replace(one, other), inline.href, longer.href])
        expect((await fetch(changed)).status).toBe(403)
      expect((await fetch(link, { method: 'DELETE' })).status).toBe(403)
      expect((await fetch(link.split('?')[0] ?? '')).status).toBe(403)
    })

    test.each(['../x', '', 'a/b'])('is not created for the invalid name %j', async (name) => {
      expect(await store.link(key, name, disposition)).toBeUndefined()
    })
  })

  test('a store that refuses the caller’s credentials fails with that reason', async () => {
    const stranger = new S3Client({
      endpoint: s3,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId: 'local', secretAccessKey: 'wrong' },
    })
    const refused = createS3OutputStore({ client: stranger, bucket })
    const key = { tenant: 'default', session: 'refused' }
    await expect(refused.put(key, newName(), text('x'), 'text/plain')).rejects.toMatchObject({
      code: 'storage_failed',
      message: expect.stringContaining('SignatureDoesNotMatch'),
    })
    await expect(refused.read(key, newName())).rejects.toMatchObject({ code: 'storage_failed' })
  })

  test('a store that does not respond fails when the client stops waiting, and never reports a missing object', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const address = silent.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const slow = new S3Client({
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      forcePathStyle: true,
      maxAttempts: 1,
      requestHandler: { requestTimeout: 200, throwOnRequestTimeout: true },
      credentials: { accessKeyId: 'local', secretAccessKey: 'localsecret' },
    })
    const waiting = createS3OutputStore({ client: slow, bucket })
    const key = { tenant: 'default', session: 'slow' }
    await expect(waiting.put(key, newName(), text('x'), 'text/plain')).rejects.toMatchObject({ code: 'storage_failed' })
    await expect(waiting.read(key, newName())).rejects.toMatchObject({ code: 'storage_failed' })
    await expect(waiting.stat(key, newName())).rejects.toMatchObject({ code: 'storage_failed' })
    slow.destroy()
    silent.close()
  })
})
