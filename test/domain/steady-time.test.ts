import fc from 'fast-check'
import { expect, test } from 'vitest'
import { steadyTime } from '../../functions/domain/time/steady-time.ts'

test('a steady time never decreases, and counts each forward step of its clock once', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -10_000_000, max: 10_000 })), (steps) => {
      let wall = 1_800_000_000_000
      let forward = 0
      const now = steadyTime(() => wall)
      const begun = now()
      for (const step of steps) {
        wall += step
        forward += Math.max(0, step)
        expect(now() - begun).toBe(forward)
      }
    }),
  )
})
