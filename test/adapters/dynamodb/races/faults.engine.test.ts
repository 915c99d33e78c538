/* Evidence, cloud: Conflicts, throttling, errors, missing responses and broken connections cause no lost and no doubled
 * write. */
import { beforeAll, describe, test } from 'vitest'
import { resolutionOf, newRun, openFixture, startRun } from '../../../contracts/session-fixture.ts'
import type { SessionFixture } from '../../../contracts/session-fixture.ts'
import { snapshot } from '../../../contracts/snapshot.ts'
import { dynamodbClient, limitEach } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { DYNAMODB_FAULTS, firstTimes, operationOf, timesSeen } from '../../../faults/dynamodb-faults.ts'
import { startFaultProxy, type FaultProxy } from '../../../faults/fault-proxy.ts'
import { dynamodbEngine } from '../engine.ts'
import { forget, liveThrough, portrait } from './scenario.ts'

/**
 * Time limits of the client's requests. With a silent fault, the first attempt of a request gets no response, so this attempt
 * has the short limit. Retries have the long limit, so that they succeed on a slow machine.
 */
const TIME_LIMIT_MS = 20_000
const SHORT_LIMIT_MS = 250

/** All faults. The silent ones take longest, so their tests start first; the tests of this file run concurrently. */
const FAULTS = Object.keys(DYNAMODB_FAULTS).toSorted((left, right) => Number(isSilent(right)) - Number(isSilent(left)))

interface Harness {
  readonly proxy: FaultProxy
  readonly stores: Awaited<ReturnType<ReturnType<typeof dynamodbEngine>['open']>>
  close(): Promise<void>
}

withEngines(['dynamodb'], ({ dynamodb }) => {
  /** Creates a table behind its own network. */
  async function openHarness(fault = ''): Promise<Harness> {
    const proxy = await startFaultProxy(dynamodb)
    const client = dynamodbClient(proxy.endpoint, TIME_LIMIT_MS)
    const count = timesSeen()
    if (isSilent(fault)) limitEach(client, (request) => (count(request) === 1 ? SHORT_LIMIT_MS : TIME_LIMIT_MS))
    const stores = await dynamodbEngine(dynamodb, client).open()
    return {
      proxy,
      stores,
      async close() {
        await stores.close()
        await proxy.stop()
      },
    }
  }

  async function live(fixture: SessionFixture): Promise<{ life: unknown; deletion: unknown }> {
    await liveThrough(fixture)
    const life = await portrait(fixture)
    return { life, deletion: await forget(fixture) }
  }

  describe('DynamoDB behind a bad network', { concurrent: true }, () => {
    let undisturbed: { readonly life: unknown; readonly deletion: unknown }
    beforeAll(async () => {
      const harness = await openHarness()
      undisturbed = await live(await openFixture(harness.stores))
      await harness.close()
    })

    test.for(FAULTS)(
      'no write is lost or doubled when the first attempt of every request meets %s',
      async (name, { expect }) => {
        const { proxy, stores, close } = await openHarness(name)
        const met = new Set<string>()
        const fixture = await openFixture(stores)
        proxy.decide(
          firstTimes(1, (request) => {
            const fault = DYNAMODB_FAULTS[name]?.(request)
            if (fault !== undefined) met.add(operationOf(request))
            return fault
          }),
        )
        const lived = await live(fixture)
        await close()
        expect(lived).toEqual(undisturbed)
        expect(met).toContain('TransactWriteItems')
        expect(met).toContain('UpdateItem')
        if (!name.startsWith('a conflict')) expect([...met]).toEqual(expect.arrayContaining(['BatchGetItem', 'Query']))
      },
    )

    test.for(FAULTS.filter((name) => !isSilent(name)))(
      'a store that keeps failing with %s returns a clear error and leaves the log unchanged',
      async (name, { expect }) => {
        const { proxy, stores, close } = await openHarness(name)
        const fixture = await openFixture(stores)
        const { run } = await startRun(fixture)
        const before = await portrait(fixture)
        proxy.decide((request) => (operationOf(request) === 'Query' ? undefined : DYNAMODB_FAULTS[name]?.(request)))
        const failure = {
          code: 'storage_failed',
          retryable: true,
          message: expect.stringContaining('DynamoDB could not'),
        }
        await expect(fixture.inbox.enqueue(fixture.key, newRun())).rejects.toMatchObject(failure)
        await expect(fixture.inbox.resolve(fixture.key, run.id, [resolutionOf('none')])).rejects.toMatchObject(
          name.startsWith('a conflict') ? { code: 'call_not_found' } : failure,
        )
        proxy.decide(() => undefined)
        if (!name.includes('after')) expect(await portrait(fixture)).toEqual(before)
        await close()
      },
    )

    test.for(FAULTS.filter((name) => !name.startsWith('a conflict')))(
      'a scan returns every row once when the first attempt of each request meets %s',
      async (name, { expect }) => {
        const { proxy, stores, close } = await openHarness(name)
        const fixture = await openFixture(stores)
        await liveThrough(fixture)
        const stored = (await snapshot(fixture.peer, fixture.key)).messages.map(({ id }) => id)
        let scans = 0
        proxy.decide(
          firstTimes(1, (request) => {
            if (operationOf(request) !== 'Scan') return undefined
            scans++
            return DYNAMODB_FAULTS[name]?.(request)
          }),
        )
        const scanned: string[] = []
        for (const segment of [0, 1])
          for await (const rows of stores.rows.scan(segment, 2)) scanned.push(...rows.map((row) => row.messageId))
        await close()
        expect(scanned.toSorted()).toEqual(stored)
        expect(scans).toBe(2)
      },
    )
  })
})

function isSilent(fault: string): boolean {
  return fault.includes('gets no response')
}
