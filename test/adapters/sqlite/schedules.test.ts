import { expect, test } from 'vitest'
import { explore } from '../../contracts/schedules/exploration.ts'
import { sqliteMemoryEngine } from './engine.ts'
import { GUARDS } from './guards.ts'
import { loadWithout, textsWithout } from './without-guard.ts'

/** Runs alike everywhere; `test/adapters/sqlite/explore-schedules.ts` looks further. */
const SEED = 20_260_105

test('no schedule of holders, clients, crashes and late writes breaks a promise of the session protocol', async () => {
  const found = await explore(sqliteMemoryEngine(), { schedules: 150, steps: 120, seed: SEED, shrink: false })
  const { failure } = found
  expect(failure === undefined ? '' : `${failure.message}\n${failure.trace.join('\n')}\nseed ${SEED}`).toBe('')
  expect(found.schedules).toBe(150)
})

test.each(['enqueue: sets due', 'append: the generation is mine'])(
  'a schedule notices that %s is missing',
  async (name) => {
    const guard = GUARDS.find((one) => one.name === name)
    if (guard === undefined) throw new Error(`there is no guard "${name}"`)
    const { modules, remove } = await loadWithout(guard)
    const found = await explore(sqliteMemoryEngine(modules), { schedules: 400, steps: 120, seed: 1, shrink: false })
    await remove()
    expect(found.failure).toBeDefined()
  },
)

test.each(GUARDS)('the guard "$name" stands in the adapter, once', async (guard) => {
  expect((await textsWithout(guard)).size).toBeGreaterThan(0)
})
