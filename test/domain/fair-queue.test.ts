import { expect, test } from 'vitest'
import { createTenantLine } from '../../functions/domain/fair-queue.ts'

/** A queue of these entries, whose first letter is their tenant. Returns the waiting entries in their order of service. */
function lineOf(...all: string[]) {
  const line = createTenantLine<string>()
  const add = (one: string): void => line.add(one.charAt(0), one)
  all.forEach(add)
  const rest = (): string[] => Array.from({ length: 20 }, () => line.next()).flatMap((one) => one ?? [])
  return { next: () => line.next(), add, rest }
}

test("tenants alternate, and each tenant's oldest entry is first", () => {
  expect(lineOf('a1', 'a2', 'a3', 'b1', 'c1', 'b2').rest()).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
})

test('a returning tenant waits for one entry of each other tenant, whenever it returns', () => {
  const line = lineOf('a1', 'a2', 'a3', 'b1')
  expect([line.next(), line.next()]).toEqual(['a1', 'b1'])
  line.add('b2')
  line.add('a4')
  expect(line.rest()).toEqual(['a2', 'b2', 'a3', 'a4'])
  expect(line.next()).toBeUndefined()
})
