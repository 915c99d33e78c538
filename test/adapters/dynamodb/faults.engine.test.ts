import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answerOf, newRun, openScene, startRun } from '../../contracts/scene.ts'
import type { Scene } from '../../contracts/scene.ts'
import type { Stores } from '../../contracts/stores.ts'
import { dynamodbClient } from '../../engines/clients.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { DYNAMODB_FAULTS, firstTimes, operationOf } from '../../faults/dynamodb-faults.ts'
import { startFaultProxy, type FaultProxy } from '../../faults/fault-proxy.ts'
import { dynamodbEngine } from './engine.ts'
import { forget, liveThrough, portrait } from './story.ts'

/** What the client allows a request before it takes it for lost. */
const TIME_LIMIT_MS = 700

withEngines(['dynamodb'], ({ dynamodb }) => {
  describe('DynamoDB behind a bad network', { timeout: 600_000 }, () => {
    let proxy: FaultProxy
    let stores: Stores
    let undisturbed: { readonly life: unknown; readonly deletion: unknown }
    beforeAll(async () => {
      proxy = await startFaultProxy(dynamodb)
      stores = await dynamodbEngine(dynamodb, dynamodbClient(proxy.endpoint, TIME_LIMIT_MS)).open()
      undisturbed = await tell(await openScene(stores))
    }, 120_000)
    afterAll(async () => {
      await stores.close()
      await proxy.stop()
    })

    async function tell(scene: Scene): Promise<{ life: unknown; deletion: unknown }> {
      await liveThrough(scene)
      const life = await portrait(scene)
      return { life, deletion: await forget(scene) }
    }

    test.each(Object.keys(DYNAMODB_FAULTS))(
      'nothing is lost and nothing doubled when every request first meets %s',
      async (name) => {
        const met = new Set<string>()
        const choose = firstTimes(1, (request) => {
          const fault = DYNAMODB_FAULTS[name]?.(request)
          if (fault !== undefined) met.add(operationOf(request))
          return fault
        })
        const scene = await openScene(stores)
        proxy.decide(choose)
        const told = await tell(scene)
        proxy.decide(() => undefined)
        expect(told).toEqual(undisturbed)
        expect(met).toContain('TransactWriteItems')
        expect(met).toContain('UpdateItem')
        if (!name.startsWith('a conflict')) expect([...met]).toEqual(expect.arrayContaining(['BatchGetItem', 'Query']))
      },
    )

    test.each(Object.keys(DYNAMODB_FAULTS).filter((name) => !name.includes('never answered')))(
      'a store that never gets better than %s fails with a clear error, and the log is as it was',
      async (name) => {
        const scene = await openScene(stores)
        const { run } = await startRun(scene)
        const before = await portrait(scene)
        proxy.decide((request) => (operationOf(request) === 'Query' ? undefined : DYNAMODB_FAULTS[name]?.(request)))
        const failure = {
          code: 'storage_failed',
          retryable: true,
          message: expect.stringContaining('DynamoDB could not'),
        }
        await expect(scene.inbox.enqueue(scene.key, newRun())).rejects.toMatchObject(failure)
        await expect(scene.inbox.answer(scene.key, run.id, [answerOf('none')])).rejects.toMatchObject(
          name.startsWith('a conflict') ? { code: 'call_not_found' } : failure,
        )
        proxy.decide(() => undefined)
        if (!name.includes('after')) expect(await portrait(scene)).toEqual(before)
      },
    )
  })
})
