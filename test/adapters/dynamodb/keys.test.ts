import { expect, test } from 'vitest'
import { sessionsGroup, sessionsGroups, shardOf, shardsOf } from '../../../functions/adapters/dynamodb/keys.ts'

const sessions = Array.from({ length: 1_000 }, (_, place) => ({ tenant: 'acme', session: `s-${place}` }))

/** How many have each name. */
function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

test("a tenant's list has four partitions, which its sessions fill evenly", () => {
  const groups = counted(sessions.map(sessionsGroup))
  expect([...groups.keys()].toSorted()).toEqual(sessionsGroups('acme'))
  expect(groups.size).toBe(4)
  expect(Math.max(...groups.values())).toBeLessThan(300)
})

test('due sessions of a tenant fill four of sixteen partitions evenly, and those of many tenants all', () => {
  const shards = counted(sessions.map((key) => shardOf('due', key)))
  expect(shards.size).toBe(4)
  expect(Math.max(...shards.values())).toBeLessThan(300)
  const ofAll = new Set(sessions.map(({ session }) => shardOf('due', { tenant: session, session: 's' })))
  expect([...ofAll].toSorted()).toEqual(shardsOf('due').toSorted())
})
