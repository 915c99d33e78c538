import { expect, test } from 'vitest'
import { shardOf, shardsOf } from '../../../functions/adapters/dynamodb/keys.ts'
import { listGroup, listGroups } from '../../../functions/adapters/dynamodb/log/sessions/lists/list-groups.ts'

const sessions = Array.from({ length: 1_000 }, (_, place) => ({ tenant: 'acme', session: `s-${place}` }))

/** Counts the keys by name. */
function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

test.each(['tenant', 'agent', 'runStatus', 'source'] as const)(
  'sessions are spread evenly over the four partitions of a list: %s',
  (field) => {
    const groups = counted(sessions.map((key) => listGroup(key, field, 'x', 'both')))
    expect([...groups.keys()].toSorted()).toEqual(listGroups('acme', field, 'x', 'both'))
    expect(groups.size).toBe(4)
    expect(Math.max(...groups.values())).toBeLessThan(300)
  },
)

test('due sessions of one tenant use four of sixteen partitions evenly; many tenants together use all sixteen', () => {
  const shards = counted(sessions.map((key) => shardOf('due', key)))
  expect(shards.size).toBe(4)
  expect(Math.max(...shards.values())).toBeLessThan(300)
  const ofAll = new Set(sessions.map(({ session }) => shardOf('due', { tenant: session, session: 's' })))
  expect([...ofAll].toSorted()).toEqual(shardsOf('due').toSorted())
})
