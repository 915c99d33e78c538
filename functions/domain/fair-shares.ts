import type { SessionKey } from './session.ts'

/**
 * Returns at most `limit` entries, oldest first. If there are more entries, tenants alternate, each with its oldest
 * entry, so that one tenant's backlog does not hide another's.
 */
export function fairShares<Entry extends { readonly key: SessionKey; readonly due: number }>(
  entries: readonly Entry[],
  limit: number,
): Entry[] {
  const oldestFirst = entries.toSorted((left, right) => left.due - right.due)
  if (oldestFirst.length <= limit) return oldestFirst
  const turns = new Map<string, number>()
  return oldestFirst
    .map((entry) => {
      const turn = turns.get(entry.key.tenant) ?? 0
      turns.set(entry.key.tenant, turn + 1)
      return { entry, turn }
    })
    .toSorted((left, right) => left.turn - right.turn)
    .slice(0, limit)
    .map(({ entry }) => entry)
    .toSorted((left, right) => left.due - right.due)
}
