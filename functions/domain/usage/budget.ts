import { TooltrailError } from '../errors.ts'

/** The limits of a day's usage (UTC). A missing field means no limit. */
export interface Budget {
  /** Limit of the tokens of all runs submitted with one key. */
  readonly keyTokens?: number
  /** Daily limits of all runs of one tenant: in tokens, and in US dollars at list prices. */
  readonly tenantTokens?: number
  readonly tenantDollars?: number
}

/** The usage of a day so far. */
export type Spent = { readonly [name in keyof Budget]-?: number }

const DAY_MS = 86_400_000

/**
 * Throws if a limit of the budget is reached: no new run may start until the day (UTC) is over. The codes are
 * `key_tokens_used_up` and `tenant_budget_used_up`.
 */
export function requireBudget(spent: Spent, budget: Budget, now: number): void {
  const retryAfterSeconds = Math.ceil((DAY_MS - (now % DAY_MS)) / 1_000)
  const until = { retryable: true, retryAfterSeconds }
  if (isUsedUp(spent.keyTokens, budget.keyTokens))
    throw new TooltrailError(
      'key_tokens_used_up',
      `this key has used ${spent.keyTokens} of its ${budget.keyTokens} tokens for this day (UTC): retry tomorrow`,
      until,
    )
  if (isUsedUp(spent.tenantTokens, budget.tenantTokens))
    throw new TooltrailError(
      'tenant_budget_used_up',
      `this tenant has used ${spent.tenantTokens} of its ${budget.tenantTokens} tokens for this day (UTC): retry tomorrow`,
      until,
    )
  if (isUsedUp(spent.tenantDollars, budget.tenantDollars))
    throw new TooltrailError(
      'tenant_budget_used_up',
      `this tenant has spent ${inDollars(spent.tenantDollars)} of its $${budget.tenantDollars} for this day (UTC): retry tomorrow`,
      until,
    )
}

/** Formats an amount in US dollars, rounded to cents. An amount below one cent is rounded to one significant digit. */
const inDollars = (amount: number): string => `$${amount < 0.01 ? amount.toPrecision(1) : amount.toFixed(2)}`

const isUsedUp = (spent: number, most: number | undefined): boolean => most !== undefined && spent >= most

/** Whether the budget has a limit for a tenant's usage. */
export const limitsTenant = ({ tenantTokens, tenantDollars }: Budget): boolean =>
  tenantTokens !== undefined || tenantDollars !== undefined
