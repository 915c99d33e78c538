/* Evidence, cloud: Conflicts, throttling, errors, missing responses and broken connections cause no lost and no doubled
 * write. */
import { CreateBucketCommand, type S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createS3OutputStore } from '../../../functions/adapters/s3/output-store.ts'
import { nextId } from '../../../functions/domain/ids.ts'
import type { OutputStore } from '../../../functions/ports/output-store.ts'
import { limitEach, s3Client } from '../../engines/clients.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { startFaultProxy, type Fault, type FaultProxy } from '../../faults/fault-proxy.ts'
import { onceEach, S3_FAULTS } from '../../faults/s3-faults.ts'

const MB = 1024 * 1024
/** Time limit of the client. The limit is short if the fault is a missing response. */
const TIME_LIMIT_MS = 20_000
const SHORT_LIMIT_MS = 1_000

const limitOf = (fault: Fault | undefined): number => (fault?.does.kind === 'silence' ? SHORT_LIMIT_MS : TIME_LIMIT_MS)

withEngines(['s3'], ({ s3 }) => {
  describe('S3 behind a bad network', () => {
    const bucket = `faults-${crypto.randomUUID()}`
    const key = { tenant: 'default', session: `s-${Date.now()}` }
    let proxy: FaultProxy
    let client: S3Client
    let direct: OutputStore
    let store: OutputStore
    /** The fault of the next request. */
    let expected: ReturnType<typeof onceEach>
    const disturb = (choose: () => ReturnType<typeof onceEach>): void => {
      expected = choose()
      proxy.decide(choose())
    }
    beforeAll(async () => {
      const sure = s3Client(s3)
      await sure.send(new CreateBucketCommand({ Bucket: bucket }))
      proxy = await startFaultProxy(s3)
      client = s3Client(proxy.endpoint, TIME_LIMIT_MS)
      limitEach(client, ({ method, path, query }) => limitOf(expected({ method, path: path + JSON.stringify(query) })))
      direct = createS3OutputStore({ client: sure, bucket })
      store = createS3OutputStore({ client, bucket })
    })
    afterAll(async () => {
      client.destroy()
      await proxy.stop()
    })

    test.each(Object.entries(S3_FAULTS))(
      'every operation succeeds when the first attempt of each request meets %s',
      async (_name, fault) => {
        const [small, large] = [nextId(undefined, Date.now()), nextId(undefined, Date.now())]
        const bytes = Buffer.alloc(9 * MB, 'tooltrail')
        disturb(() => onceEach(fault))
        await store.put(key, small, Buffer.from('small'), 'text/plain')
        await store.put(key, large, bytes, 'text/plain')
        expect(await store.stat(key, small)).toEqual({ bytes: 5, mediaType: 'text/plain' })
        expect(Buffer.from(await store.read(key, small)).toString()).toBe('small')
        proxy.decide(() => undefined)
        expect(Buffer.compare(await direct.read(key, large), bytes)).toBe(0)
        disturb(() => onceEach(fault))
        await store.removeAll(key)
        proxy.decide(() => undefined)
        expect(await direct.stat(key, small)).toBeUndefined()
        expect(await direct.stat(key, large)).toBeUndefined()
      },
    )

    test.each(Object.entries(S3_FAULTS))('an operation fails if every attempt meets %s', async (_name, fault) => {
      const name = nextId(undefined, Date.now())
      disturb(() => () => fault)
      const failure = { code: 'storage_failed', retryable: true }
      await expect(store.put(key, name, Buffer.from('x'), 'text/plain')).rejects.toMatchObject(failure)
      await expect(store.read(key, name)).rejects.toMatchObject(failure)
      await expect(store.stat(key, name)).rejects.toMatchObject(failure)
      await expect(store.removeAll(key)).rejects.toMatchObject(failure)
      proxy.decide(() => undefined)
      if (fault.at === 'before') expect(await direct.stat(key, name)).toBeUndefined()
    })
  })
})
