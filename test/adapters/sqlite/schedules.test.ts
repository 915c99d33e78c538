/* Evidence, durability: Schedules of crashes, takeovers and late writes find no lost wake-up, no double resume and
 * no lost input. */
/* Evidence, deliveries: Schedules of deliveries find no lost callback, no double reply and no delivery that waits
 * for ever. */
import { expect, test } from 'vitest'
import { explore } from '../../contracts/schedules/exploration.ts'
import { IMPORT_SCHEDULES } from '../../contracts/schedules/imports.ts'
import { SESSION_SCHEDULES } from '../../contracts/schedules/schedule.ts'
import { sqliteMemoryEngine } from './engine.ts'
import { createDeliveryDriver } from '../../../functions/delivery/driver.ts'
import { hintDueDeliveries } from '../../../functions/delivery/due-deliveries.ts'
import { deliverySchedules } from '../../contracts/schedules/deliveries/schedule.ts'
import type { DeliveryCode } from '../../contracts/schedules/deliveries/world.ts'
import type { Kind } from '../../contracts/schedules/exploration.ts'
import { DELIVERY_GUARDS } from '../../../audit/exploration/delivery-guards.ts'
import { GUARDS } from '../../../audit/exploration/guards.ts'
import type { Guard } from '../../../audit/exploration/guards.ts'
import { loadWithout, textsWithout } from '../../../audit/exploration/without-guard.ts'

/** Seed of the schedules, equal on all machines. `audit/exploration/explore-sqlite-schedules.ts` tries other seeds. */
const SEED = 20_260_105

test('no schedule of holders, clients, crashes and late writes breaks a promise of the session protocol', async () => {
  const found = await explore(sqliteMemoryEngine(), SESSION_SCHEDULES, {
    schedules: 100,
    steps: 120,
    seed: SEED,
    shrink: false,
  })
  const { failure } = found
  expect(failure === undefined ? '' : `${failure.message}\n${failure.trace.join('\n')}\nseed ${SEED}`).toBe('')
  expect(found.schedules).toBe(100)
})

test('no schedule with imported turns and fast clocks breaks a promise of the session protocol', async () => {
  const options = { schedules: 60, steps: 120, seed: SEED, shrink: false }
  const { failure, schedules } = await explore(sqliteMemoryEngine(), IMPORT_SCHEDULES, options)
  expect(failure === undefined ? '' : `${failure.message}\n${failure.trace.join('\n')}\nseed ${SEED}`).toBe('')
  expect(schedules).toBe(60)
})

test('no schedule in which delivering processes lose hints, claims and responses breaks a promise of deliveries', async () => {
  const kind = deliverySchedules({ createDeliveryDriver, hintDueDeliveries })
  const found = await explore(sqliteMemoryEngine(), kind, { schedules: 100, steps: 160, seed: SEED, shrink: false })
  const { failure } = found
  expect(failure === undefined ? '' : `${failure.message}\n${failure.trace.join('\n')}\nseed ${SEED}`).toBe('')
  expect(found.schedules).toBe(100)
})

/** Whether a schedule detects the missing guard. */
async function isMissed(guard: Guard, kindOf: (code: DeliveryCode) => Kind<unknown>): Promise<boolean> {
  const { modules, delivery, remove } = await loadWithout(guard)
  const options = { schedules: 400, steps: 120, seed: 1, shrink: false }
  const { failure } = await explore(sqliteMemoryEngine(modules), kindOf(delivery), options)
  await remove()
  return failure !== undefined
}

const named = (guards: readonly Guard[], name: string): Guard => {
  const guard = guards.find((one) => one.name === name)
  if (guard === undefined) throw new Error(`there is no guard "${name}"`)
  return guard
}

test.each(['enqueue: sets due', 'append: the generation is mine'])(
  'the schedules detect that the guard "%s" is missing',
  async (name) => expect(await isMissed(named(GUARDS, name), () => SESSION_SCHEDULES)).toBe(true),
)

test.each(['delivery, claim: a released claim is not renewed', 'delivery, sweep: marks a hinted delivery'])(
  'the schedules detect that the delivery guard "%s" is missing',
  async (name) => expect(await isMissed(named(DELIVERY_GUARDS, name), deliverySchedules)).toBe(true),
)

test.each([...GUARDS, ...DELIVERY_GUARDS])('the guard "$name" occurs once in the adapter', async (guard) => {
  expect((await textsWithout(guard)).size).toBeGreaterThan(0)
})
