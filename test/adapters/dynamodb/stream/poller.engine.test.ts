import { DeleteTableCommand, PutItemCommand } from '@aws-sdk/client-dynamodb'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { afterAll, describe, expect, test } from 'vitest'
import { createTableIfAbsent } from '../../../../functions/adapters/dynamodb/create-table.ts'
import type { StreamRecord } from '../../../../functions/adapters/dynamodb/stream/row-records.ts'
import { startStreamPoller } from '../../../../functions/adapters/dynamodb/stream/poller.ts'
import { createStreamPositions } from '../../../../functions/adapters/dynamodb/stream/positions.ts'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import type { Clock } from '../../../../functions/ports/clock.ts'
import { dynamodbClient, streamsClient } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { until } from '../../../eventually.ts'
import { startFaultProxy } from '../../../faults/fault-proxy.ts'
import type { Fault, FaultProxy, ProxiedRequest } from '../../../faults/fault-proxy.ts'

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Creates a clock that advances at once when code sleeps, so the number of polls does not depend on the machine. */
function createHastyClock(): Clock {
  let time = 0
  return {
    now: () => time,
    async sleep(milliseconds, signal) {
      signal?.throwIfAborted()
      time += milliseconds
      await pause(0)
    },
  }
}

/** Returns the name of a request's operation, such as `GetRecords` or `ListStreams`. */
const operationOf = ({ headers }: ProxiedRequest): string => String(headers['x-amz-target'] ?? '').replace(/^.*\./, '')

/** Returns a response of the stream API with this error name. */
const refusal = (name: string): Fault => ({
  at: 'before',
  does: {
    kind: 'respond',
    status: 400,
    type: 'application/x-amz-json-1.0',
    body: JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: `${name} made by a test` }),
  },
})

withEngines(['dynamodb'], ({ dynamodb }) => {
  describe('a poller of the stream', () => {
    const client = dynamodbClient(dynamodb)
    const closing: (() => Promise<void>)[] = []
    afterAll(async () => {
      for (const close of closing) await close()
      client.destroy()
    })

    /** Creates a table with a stream, which is read through a proxy. Records the poller's warnings and errors. */
    async function harness() {
      const tableName = `stream-${crypto.randomUUID()}`
      await createTableIfAbsent(client, tableName)
      const proxy: FaultProxy = await startFaultProxy(dynamodb)
      const streams = streamsClient(proxy.endpoint)
      closing.push(async () => {
        streams.destroy()
        await proxy.stop()
      })
      const warnings: string[] = []
      const errors: string[] = []
      const seen: string[] = []
      const dependencies = {
        ...{ client: streams, tableName, clock: createSystemClock() },
        logger: {
          warn: (message: string) => void warnings.push(message),
          error: (_: string, cause: unknown) => void errors.push(String(cause)),
        },
        async handle(records: readonly StreamRecord[]) {
          seen.push(...records.flatMap(({ dynamodb: record }) => record?.NewImage?.['sk']?.S ?? []))
          return { failed: [] }
        },
      }
      const write = (name: string) => put(client, tableName, name)
      return { tableName, proxy, dependencies, seen, warnings, errors, write }
    }

    test('emits records in order, repeats from the first failed record, and emits none after it has stopped', async () => {
      const { dependencies, write } = await harness()
      for (const name of ['a', 'b', 'c', 'd']) await write(name)
      const batches: string[][] = []
      let failures = 2
      const poller = startStreamPoller({
        ...dependencies,
        async handle(records) {
          batches.push(records.map(({ dynamodb: record }) => record?.NewImage?.['sk']?.S ?? ''))
          const third = records.find(({ dynamodb: record }) => record?.NewImage?.['sk']?.S === 'c')
          if (third === undefined || failures-- <= 0) return { failed: [] }
          return { failed: [third.dynamodb?.SequenceNumber ?? ''] }
        },
      })
      await until(() => failures <= 0 && batches.at(-1)?.at(-1) === 'd')
      await write('e')
      await until(() => batches.at(-1)?.at(-1) === 'e')
      await poller.stop()
      await write('f')
      await pause(300)
      expect(batches.flat().join('')).toMatch(/^abcd(cd){2}e$/)
    })

    test('continues at another process’s position, and an earlier position never replaces a later one', async () => {
      const { dependencies, tableName, write, seen } = await harness()
      const positions = createStreamPositions({ client, tableName })
      const read = async (name: string): Promise<string> => {
        seen.length = 0
        const poller = startStreamPoller({ ...dependencies, positions })
        await write(name)
        await until(() => seen.includes(name))
        await poller.stop()
        return seen.filter((one) => one.length === 1).join('')
      }
      expect(await read('a')).toBe('a')
      expect(await read('b')).toBe('b')
      await positions.keep('of-a-test', '123')
      await positions.keep('of-a-test', '99')
      expect(await positions.read('of-a-test')).toBe('123')
    })

    test('silently replaces an expired iterator by a new iterator at the same position', async () => {
      const { dependencies, proxy, write, seen, warnings, errors } = await harness()
      await write('a')
      const poller = startStreamPoller(dependencies)
      await until(() => seen.includes('a'))
      let expired = 0
      proxy.decide((request) =>
        operationOf(request) === 'GetRecords' && expired++ < 3 ? refusal('ExpiredIteratorException') : undefined,
      )
      await until(() => expired >= 3)
      await write('b')
      await until(() => seen.includes('b'))
      await poller.stop()
      expect([seen.join(''), warnings, errors]).toEqual(['ab', [], []])
    })

    test('if the oldest record was dropped before the read, retries once silently and then reports an error', async () => {
      const { dependencies, proxy, write, seen, warnings, errors } = await harness()
      await write('a')
      let refusals = 1
      proxy.decide((request) =>
        operationOf(request) === 'GetRecords' && refusals-- > 0 ? refusal('TrimmedDataAccessException') : undefined,
      )
      const poller = startStreamPoller(dependencies)
      await until(() => seen.includes('a'))
      expect([warnings, errors]).toEqual([[], []])
      await poller.stop()
      refusals = 2
      const again = startStreamPoller(dependencies)
      await until(() => seen.length > 1)
      await again.stop()
      expect(errors).toEqual([expect.stringContaining('TrimmedDataAccessException')])
    })

    test.each(['GetRecords', 'GetShardIterator'])(
      'restarts at the oldest record, with one warning, when %s shows that the record at its position expired',
      async (operation) => {
        const { dependencies, proxy, write, seen, warnings, errors } = await harness()
        await write('a')
        const poller = startStreamPoller(dependencies)
        await until(() => seen.includes('a'))
        // An iterator after an expired record is refused; an iterator at the oldest record is not.
        let dropped = false
        proxy.decide((request) => {
          const body = request.body.toString()
          if (operation === 'GetShardIterator' && operationOf(request) === 'GetRecords' && !dropped) {
            dropped = true
            return refusal('ExpiredIteratorException')
          }
          const isPlace = operation === 'GetRecords' ? !dropped : body.includes('AFTER_SEQUENCE_NUMBER')
          if (operationOf(request) !== operation || !isPlace) return undefined
          dropped = true
          return refusal('TrimmedDataAccessException')
        })
        // A request in flight during the write of `b` could still return `b`. So the write waits for the warning.
        await until(() => warnings.length > 0)
        await write('b')
        await until(() => seen.includes('b'))
        await poller.stop()
        expect([seen.join(''), errors]).toEqual(['aab', []])
        expect(warnings).toEqual([expect.stringContaining('npm run rebuild')])
      },
    )

    test('warns once when every known shard is gone, and is silent at the first start', async () => {
      const { dependencies, tableName, write, seen, warnings } = await harness()
      const positions = createStreamPositions({ client, tableName })
      const read = async (name: string): Promise<void> => {
        const poller = startStreamPoller({ ...dependencies, positions })
        await write(name)
        await until(() => seen.includes(name))
        await poller.stop()
      }
      await read('a')
      expect(warnings).toEqual([])
      const other = await harness()
      const elsewhere = createStreamPositions({ client, tableName: other.tableName })
      await elsewhere.keep('shardId-that-is-gone', '123')
      const poller = startStreamPoller({ ...other.dependencies, positions: elsewhere })
      await other.write('b')
      await until(() => other.seen.includes('b'))
      await poller.stop()
      expect(other.warnings).toEqual([expect.stringContaining('npm run rebuild')])
    })

    test('polls less often while the table is missing, and then reads the stream of the new table', async () => {
      const { dependencies, tableName, proxy, write, seen } = await harness()
      await write('a')
      const clock = createHastyClock()
      const requests: number[] = []
      const errors: number[] = []
      const logger = { ...dependencies.logger, error: () => void errors.push(clock.now()) }
      const poller = startStreamPoller({ ...dependencies, clock, logger })
      await until(() => seen.includes('a'))
      await client.send(new DeleteTableCommand({ TableName: tableName }))
      // The stream of a deleted table remains readable for 24 hours, so the proxy simulates a missing stream.
      proxy.decide(() => {
        requests.push(clock.now())
        return refusal('ResourceNotFoundException')
      })
      await until(() => errors.length > 6)
      // Waits of 1, 2, 4, 8 and 10 seconds.
      const [first = 0] = errors
      const isWithin = (time: number): boolean => time > first && time <= first + 25_000
      expect(errors.filter(isWithin)).toHaveLength(5)
      expect(requests.filter(isWithin).length).toBeLessThan(12)
      await createTableIfAbsent(client, tableName)
      await write('b')
      proxy.decide(() => undefined)
      await until(() => seen.includes('b'))
      await poller.stop()
      expect(seen.join('')).toBe('ab')
    })

    test('polls an idle stream less than twice a second', async () => {
      const { dependencies, proxy, write, seen } = await harness()
      await write('a')
      const clock = createHastyClock()
      const poller = startStreamPoller({ ...dependencies, clock })
      await until(() => seen.includes('a'))
      const requests: number[] = []
      const begin = clock.now() + 1_500
      proxy.decide(() => void requests.push(clock.now()))
      await until(() => (requests.at(-1) ?? 0) > begin + 20_000)
      await poller.stop()
      const counted = requests.filter((time) => time > begin && time <= begin + 20_000).length
      expect(counted).toBeLessThan(40)
      expect(counted).toBeGreaterThan(20)
    })
  })
})

const put = (client: DynamoDBClient, tableName: string, name: string) =>
  client.send(new PutItemCommand({ TableName: tableName, Item: { pk: { S: 'one' }, sk: { S: name } } }))
