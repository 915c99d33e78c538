import { limitsTenant, requireBudget } from '../../../../domain/usage/budget.ts'
import type { Message } from '../../../../domain/messages/message.ts'
import { costOf } from '../../../../domain/usage/model-prices.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import {
  countedCompletion,
  dayOf,
  totalTokens,
  type CountedCompletion,
  type UsageAccount,
} from '../../../../domain/usage/usage-count.ts'
import type { RunLimits } from '../../../../ports/run-inbox.ts'
import type { Usage } from '../../../../domain/usage/usage.ts'
import { readAll, readOne, write, type Database } from '../../database.ts'
import { fromColumn, toColumn } from '../../exact-text.ts'
import { USAGE_COLUMNS } from './usage-schema.ts'

/** Value of the owner column for a session without an owner. No owner has an empty name. */
export const NO_OWNER = ''

/**
 * Adds counters. Null means that no provider reported the value. If one side of a sum is null, the sum is the other
 * side.
 */
const SUMS = USAGE_COLUMNS.map(
  (name) => `${name} = coalesce(${name} + excluded.${name}, ${name}, excluded.${name})`,
).join(', ')

const upsert = (table: string, names: readonly string[]): string => {
  const columns = [...names, ...USAGE_COLUMNS]
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT (${names.join(', ')}) DO UPDATE SET ${SUMS}`
}
const ADD_TO_SESSION = upsert('usage_of_sessions', ['tenant', 'day', 'owner', 'session', 'agent', 'model'])
const ADD_TO_TENANT = upsert('usage_of_tenants', ['tenant', 'day', 'agent', 'model'])
const ADD_TO_KEY = `INSERT INTO usage_of_keys (apiKey, day, tokens) VALUES (?, ?, ?)
  ON CONFLICT (apiKey, day) DO UPDATE SET tokens = tokens + excluded.tokens`

/** Counts a message if it is a completion. */
export function countUsage(
  database: Database,
  key: SessionKey,
  message: Message | undefined,
  account: UsageAccount,
): void {
  const completion = countedCompletion(message)
  if (completion !== undefined) countCompletion(database, key, completion, account)
}

/** Adds a completion to the counts of its session, its tenant and its key. */
export function countCompletion(
  database: Database,
  { tenant, session }: SessionKey,
  completion: CountedCompletion,
  { owner, keyId }: UsageAccount,
): void {
  const { day, usage } = completion
  const [agent, model] = [toColumn(completion.agent), toColumn(completion.model)]
  const counts = countsOf(usage)
  const ownerColumn = owner === undefined ? NO_OWNER : toColumn(owner)
  write(database, ADD_TO_SESSION, tenant, day, ownerColumn, session, agent, model, ...counts)
  write(database, ADD_TO_TENANT, tenant, day, agent, model, ...counts)
  if (keyId === undefined) return
  write(database, ADD_TO_KEY, toColumn(keyId), day, totalTokens(usage))
  write(database, 'DELETE FROM usage_of_keys WHERE apiKey = ? AND day < ?', toColumn(keyId), day)
}

const countsOf = (usage: Usage): (number | null)[] =>
  USAGE_COLUMNS.map((name) => (name === 'completions' ? 1 : usage[name]))

const OF_TENANT_TODAY = `SELECT model, ${USAGE_COLUMNS.join(', ')} FROM usage_of_tenants WHERE tenant = ? AND day = ?`

/** Throws if the run's key or tenant has used up its budget for this day. */
export function requireBudgetOf(database: Database, tenant: string, { keyId, budget }: RunLimits, now: number): void {
  if (budget === undefined) return
  const day = dayOf(now)
  const ofKey = 'SELECT tokens FROM usage_of_keys WHERE apiKey = ? AND day = ?'
  const key =
    keyId === undefined || budget.keyTokens === undefined
      ? undefined
      : readOne<{ tokens: number }>(database, ofKey, toColumn(keyId), day)
  const sums = limitsTenant(budget)
    ? readAll<Usage & { readonly model: string }>(database, OF_TENANT_TODAY, tenant, day)
    : []
  const spent = {
    keyTokens: key?.tokens ?? 0,
    tenantTokens: sums.reduce((sum, usage) => sum + totalTokens(usage), 0),
    tenantDollars: sums.reduce((sum, usage) => sum + (costOf(fromColumn(usage.model), usage) ?? 0), 0),
  }
  requireBudget(spent, budget, now)
}
