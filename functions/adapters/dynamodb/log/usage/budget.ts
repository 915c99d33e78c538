import { limitsTenant, requireBudget } from '../../../../domain/usage/budget.ts'
import { costOf } from '../../../../domain/usage/model-prices.ts'
import { dayOf, totalTokens } from '../../../../domain/usage/usage-count.ts'
import type { RunLimits } from '../../../../ports/run-inbox.ts'
import { numberAt, type Item } from '../../attributes.ts'
import { all, is, startsWith, type Condition } from '../../expressions.ts'
import type { Table } from '../../table.ts'
import { countsOf, dayPartitions, SUM_PREFIX, sumsOfKey } from './usage-items.ts'

/**
 * Throws if the run's key or tenant has used up its budget for this day. Reads all sums of the day: at most 32 items
 * for a key, and 128 for a tenant.
 */
export async function requireBudgetOf(
  table: Table,
  tenant: string,
  { keyId, budget }: RunLimits,
  now: number,
): Promise<void> {
  if (budget === undefined) return
  const day = dayOf(now)
  const ofKey = keyId === undefined || budget.keyTokens === undefined ? [] : [sumsOfKey(keyId, day)]
  const ofTenant = limitsTenant(budget)
    ? dayPartitions(tenant, day).map((pk) => all(is('pk', pk), startsWith('sk', SUM_PREFIX)))
    : []
  const [keySums, tenantSums] = await Promise.all([itemsOf(table, ofKey), itemsOf(table, ofTenant)])
  const counts = tenantSums.flatMap(countsOf)
  const spent = {
    keyTokens: keySums.reduce((sum, item) => sum + (numberAt(item, 'tokens') ?? 0), 0),
    tenantTokens: counts.reduce((sum, { usage }) => sum + totalTokens(usage), 0),
    tenantDollars: counts.reduce((sum, { model, usage }) => sum + (costOf(model, usage) ?? 0), 0),
  }
  requireBudget(spent, budget, now)
}

async function itemsOf(table: Table, ranges: readonly Condition[]): Promise<Item[]> {
  const read = ranges.map(async (keys) => {
    const items: Item[] = []
    for await (const item of table.query({ keys })) items.push(item)
    return items
  })
  return (await Promise.all(read)).flat()
}
