import { fc } from '../generators/seeded.ts'
import { expect, test } from 'vitest'
import { fairShares } from '../../functions/domain/fair-shares.ts'

const entry = fc
  .record({ tenant: fc.constantFrom('a', 'b', 'c'), session: fc.uuid(), due: fc.nat(50) })
  .map(({ tenant, session, due }) => ({ key: { tenant, session }, due }))

test('all entries within the limit are returned, oldest first', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 30 }), (entries) => {
      const given = fairShares(entries, 30)
      expect(new Set(given)).toEqual(new Set(entries))
      expect(given.map(({ due }) => due)).toEqual(entries.map(({ due }) => due).toSorted((a, b) => a - b))
    }),
  )
})

test('beyond the limit, each tenant gets its oldest entries, and shares differ by at most one', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (entries, limit) => {
      const given = fairShares(entries, limit)
      expect(given).toHaveLength(Math.min(limit, entries.length))
      const left = entries.filter((one) => !given.includes(one))
      const of = (tenant: string) => given.filter(({ key }) => key.tenant === tenant)
      for (const one of left) {
        expect(of(one.key.tenant).every(({ due }) => due <= one.due)).toBe(true)
        for (const other of ['a', 'b', 'c']) expect(of(other).length).toBeLessThanOrEqual(of(one.key.tenant).length + 1)
      }
    }),
  )
})
