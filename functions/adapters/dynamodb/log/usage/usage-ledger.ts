import { TooltrailError } from '../../../../domain/errors.ts'
import { addSums, daysBetween, tooManyRows, type UsageSum } from '../../../../domain/usage/usage-sums.ts'
import { MAX_USAGE_ROWS, type UsageLedger, type UsageQuery } from '../../../../ports/usage-ledger.ts'
import { requiredText, textAt, type Item } from '../../attributes.ts'
import { all, is, startsWith } from '../../expressions.ts'
import { createTable, type Table, type TableDependencies } from '../../table.ts'
import { countCompletion, countsOf, dayPartitions, ofSessions, SUM_PREFIX } from './usage-items.ts'

/** Creates the ledger of completions' usage on DynamoDB. */
export function createDynamoUsageLedger(dependencies: TableDependencies): UsageLedger {
  const table = createTable(dependencies)
  return {
    async count(key, completion, account) {
      if ((await table.write(countCompletion(key, completion, account))) !== undefined)
        throw new TooltrailError('storage_failed', `the usage of session ${key.session} was not counted`)
    },
    sums: (query) => sums(table, query),
  }
}

async function sums(table: Table, query: UsageQuery): Promise<readonly UsageSum[]> {
  const { tenant, from, to, by, owner } = query
  const bySession = owner !== undefined || by === 'owner' || by === 'session'
  const sum = addSums()
  let rows = 0
  for (const day of daysBetween(from, to)) {
    const items = dayPartitions(tenant, day).map(async (pk) => {
      const prefix = bySession ? ofSessions(owner) : SUM_PREFIX
      for await (const item of table.query({ keys: all(is('pk', pk), startsWith('sk', prefix)) })) {
        if (bySession && ++rows > MAX_USAGE_ROWS) throw tooManyRows(MAX_USAGE_ROWS)
        for (const { agent, ...count } of countsOf(item))
          sum.add({ ...count, group: groupOf(item, agent, count.model) })
      }
    })
    await Promise.all(items)
  }
  return sum.all()

  function groupOf(item: Item, agent: string, model: string): string | undefined {
    switch (by) {
      case 'day':
        return requiredText(item, 'pk').split('#')[2]
      case 'agent':
        return agent
      case 'model':
        return model
      case 'owner':
        return textAt(item, 'owner')
      case 'session':
        return textAt(item, 'session')
      default:
        return by satisfies never
    }
  }
}
