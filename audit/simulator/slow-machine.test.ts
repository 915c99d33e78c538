/* Evidence, house: A seed gives the same trace of the simulator, even on a slow or busy machine. */
import { expect, test } from 'vitest'
import { isWhole } from '../../test/whole.ts'
import { generate } from './scripts/generate.ts'
import { simulate } from './simulation.ts'
import { openMemoryStore } from './world/stores.ts'

/** Milliseconds that the machine's clock advances at each read. */
let slowness = 0
const elapsed = performance.now.bind(performance)
let looks = 0
// This line must precede the first simulation, because the simulator binds `performance.now` when that simulation
// starts.
performance.now = () => elapsed() + slowness * looks++

test.each(isWhole ? ['1', '9', '18'] : ['1'])('seed %s gives the same trace on a much slower machine', async (seed) => {
  const options = { openStore: openMemoryStore, keepTrace: true }
  slowness = 0
  const first = await simulate(generate(seed), options)
  slowness = 50
  const second = await simulate(generate(seed), options)
  expect(second).toEqual(first)
})
