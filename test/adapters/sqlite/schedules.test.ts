import { expect, test } from 'vitest'
import { explore } from '../../contracts/schedules/exploration.ts'
import { sqliteMemoryEngine } from './engine.ts'

/** Runs alike everywhere; `test/contracts/schedules/explore.ts` looks further. */
const SEED = 20_260_105

test('no schedule of holders, clients, crashes and late writes breaks a promise of the session protocol', async () => {
  const found = await explore(sqliteMemoryEngine(), { schedules: 300, steps: 120, seed: SEED, shrink: false })
  const { failure } = found
  expect(failure === undefined ? '' : `${failure.message}\n${failure.trace.join('\n')}\nseed ${SEED}`).toBe('')
  expect(found.schedules).toBe(300)
})
