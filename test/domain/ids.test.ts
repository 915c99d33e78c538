import { fc } from '../generators/seeded.ts'
import { describe, expect, test } from 'vitest'
import { isSessionId, isTenant, isUlid, nextId, nextIds, timeOfId, nextRunId } from '../../functions/domain/ids.ts'

/** Times of a clock that jumps forward and back between the years 1970 and 10889, in milliseconds. */
const clock = fc.array(fc.integer({ min: 0, max: 2 ** 48 - 2 }), { minLength: 1, maxLength: 50 })

describe('nextId', () => {
  test('returns greater ids whatever the clocks of the writers show', () => {
    fc.assert(
      fc.property(clock, (times) => {
        let last: string | undefined
        for (const now of times) {
          const id = nextId(last, now)
          expect(isUlid(id)).toBe(true)
          if (last !== undefined) expect(id > last).toBe(true)
          last = id
        }
      }),
    )
  })

  test('keeps the time of the last id if that time is ahead of the clock', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 40), fc.nat(2 ** 40), (before, now) => {
        const last = nextId(undefined, before)
        const id = nextId(last, now)
        expect(timeOfId(id)).toBe(Math.max(before, now))
      }),
    )
  })

  test('carries a full digit over into the next digits', () => {
    expect(nextId('01M80D4KDC0000000000000ZZZ', 0)).toBe('01M80D4KDC0000000000001000')
    expect(nextId(`01M80D4KDC${'Z'.repeat(16)}`, 0)).toBe(`01M80D4KDD${'0'.repeat(16)}`)
  })
})

test('a run id is greater than all earlier ids, and never equals a later message id', () => {
  const maybe = fc.option(fc.nat(2 ** 40), { nil: undefined })
  fc.assert(
    fc.property(maybe, maybe, fc.nat(2 ** 40), (ofTail, ofHead, now) => {
      const [tail, head] = [ofTail, ofHead].map((time) => (time === undefined ? undefined : nextId(undefined, time)))
      const id = nextRunId(tail, head, now)
      for (const before of [tail, head]) expect(id > (before ?? '')).toBe(true)
      expect(head === undefined ? [] : nextIds(head, timeOfId(head), 100)).not.toContain(id)
    }),
  )
})

test('a batch of ids is in rising order', () => {
  const ids = nextIds('01M80D4KDC00000000000000ZZ', 0, 70)
  expect(ids).toHaveLength(70)
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(70)
})

test.each(['a', 'A.b_c:d-9', '0', 'x'.repeat(128)])('%j is a valid session id', (id) =>
  expect(isSessionId(id)).toBe(true),
)
test.each(['', '-a', '.', '..', 'a/b', 'a b', 'é', 'a\0', 'x'.repeat(129), 'a\n'])(
  '%j is not a valid session id',
  (id) => expect(isSessionId(id)).toBe(false),
)
test.each(['', 'A', 'a_b', 'x'.repeat(65), 'a\n'])('%j is not a valid tenant name', (tenant) =>
  expect(isTenant(tenant)).toBe(false),
)
