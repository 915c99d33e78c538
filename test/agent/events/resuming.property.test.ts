/* Evidence, api: A client that resumes after any event of a run gets every later event once and in order. */
import { expect, test } from 'vitest'
import { fc } from '../../generators/seeded.ts'
import { isWhole } from '../../whole.ts'
import { anyPlan, playPlan } from './planned-run.ts'

/** Number of plans played at the same time. Plans wait most of the time. */
const AT_ONCE = 6

test('a follower that resumes after any event gets every later event once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyPlan, { minLength: 1, maxLength: AT_ONCE, size: 'max' }), async (plans) => {
      const played = await Promise.allSettled(plans.map((plan) => playPlan(plan)))
      expect(played.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))).toEqual([])
    }),
    { numRuns: isWhole ? 100 : 3, endOnFailure: true },
  )
})
