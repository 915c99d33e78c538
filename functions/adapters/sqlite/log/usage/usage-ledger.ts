import { addSums, daysBetween, tooManyRows, type UsageSum } from '../../../../domain/usage/usage-sums.ts'
import { MAX_USAGE_ROWS, type UsageLedger, type UsageQuery } from '../../../../ports/usage-ledger.ts'
import { readEach, snapshot, transaction, type Database } from '../../database.ts'
import { fromColumn, toColumn } from '../../exact-text.ts'
import { countCompletion, NO_OWNER } from './usage-rows.ts'
import { USAGE_COLUMNS } from './usage-schema.ts'

type Counts = Readonly<Record<(typeof USAGE_COLUMNS)[number], number | null>>
interface Row extends Counts {
  readonly day: string
  readonly agent: string
  readonly model: string
  /** `owner` and `session` are set if the row is a sum for one session. */
  readonly owner?: string
  readonly session?: string
}

const COUNTS = USAGE_COLUMNS.join(', ')
const OF_SESSIONS = `SELECT day, owner, session, agent, model, ${COUNTS} FROM usage_of_sessions WHERE tenant = ?`
const OF_TENANT = `SELECT day, agent, model, ${COUNTS} FROM usage_of_tenants WHERE tenant = ? AND day BETWEEN ? AND ?`

/** Creates the ledger of completions' usage on SQLite. */
export function createSqliteUsageLedger({ database }: { database: Database }): UsageLedger {
  return {
    count: async (key, completion, account) =>
      transaction(database, () => countCompletion(database, key, completion, account)),
    sums: async (query) => snapshot(database, () => sums(database, query)),
  }
}

function sums(database: Database, query: UsageQuery): readonly UsageSum[] {
  const sum = addSums()
  for (const row of rowsOf(database, query)) {
    const { completions, inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens } = row
    const tokens = { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens }
    sum.add({
      group: groupOf(row, query.by),
      model: fromColumn(row.model),
      completions: completions ?? 0,
      usage: { ...tokens, totalTokens: row.totalTokens },
    })
  }
  return sum.all()
}

function* rowsOf(database: Database, { tenant, from, to, by, owner }: UsageQuery): Generator<Row> {
  if (owner === undefined && by !== 'owner' && by !== 'session') {
    yield* readEach<Row>(database, OF_TENANT, tenant, from, to)
    return
  }
  let rows = 0
  for (const row of ofSessions(database, { tenant, from, to, owner })) {
    if (++rows > MAX_USAGE_ROWS) throw tooManyRows(MAX_USAGE_ROWS)
    yield row
  }
}

function* ofSessions(
  database: Database,
  { tenant, from, to, owner }: Pick<UsageQuery, 'tenant' | 'from' | 'to'> & { readonly owner: string | undefined },
): Generator<Row> {
  if (owner === undefined) yield* readEach<Row>(database, `${OF_SESSIONS} AND day BETWEEN ? AND ?`, tenant, from, to)
  // An owner's rows of one day are adjacent.
  else
    for (const day of daysBetween(from, to))
      yield* readEach<Row>(database, `${OF_SESSIONS} AND day = ? AND owner = ?`, tenant, day, toColumn(owner))
}

function groupOf(row: Row, by: UsageQuery['by']): string | undefined {
  switch (by) {
    case 'day':
      return row.day
    case 'agent':
      return fromColumn(row.agent)
    case 'model':
      return fromColumn(row.model)
    case 'owner':
      return row.owner === undefined || row.owner === NO_OWNER ? undefined : fromColumn(row.owner)
    case 'session':
      return row.session
    default:
      return by satisfies never
  }
}
