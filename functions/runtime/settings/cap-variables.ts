import * as z from 'zod'
import type { Caps } from '../../access/rates.ts'
import { MAX_ACTIVE_RUNS, MAX_OPEN_REQUESTS } from '../../domain/keys/api-key.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { isTenant } from '../../domain/ids.ts'

const COUNT = 'must be a whole number above 0'
const count = z.coerce.number(COUNT).pipe(z.int(COUNT).positive(COUNT))
const atMost = (most: number) => count.pipe(z.number().max(most, `must be at most ${most}`))
const dollars = z.coerce.number('must be a number above 0').pipe(z.number().positive('must be above 0'))

const ofTenants = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      context.addIssue('must be JSON, like {"acme": {"tokens_per_day": 1000000, "usd_per_day": 20}}')
      return z.NEVER
    }
  })
  .pipe(
    z.record(
      z.string().refine(isTenant, 'must be 1–64 of a-z 0-9 -'),
      z.strictObject({
        tokens_per_day: z.int().positive().nullable().optional(),
        usd_per_day: z.number().positive().nullable().optional(),
      }),
    ),
  )

/** The variables that limit keys and tenants. */
export const capVariables = {
  TOOLTRAIL_KEY_RPS: count.optional(),
  TOOLTRAIL_KEY_ACTIVE_RUNS: atMost(MAX_ACTIVE_RUNS).optional(),
  TOOLTRAIL_KEY_OPEN_CALLS: atMost(MAX_OPEN_REQUESTS).optional(),
  TOOLTRAIL_KEY_TOKENS_PER_DAY: count.optional(),
  TOOLTRAIL_TENANT_TOKENS_PER_DAY: count.optional(),
  TOOLTRAIL_TENANT_USD_PER_DAY: dollars.optional(),
  TOOLTRAIL_TENANT_BUDGETS: ofTenants.optional(),
}

type Values = { readonly [name in keyof typeof capVariables]?: z.output<(typeof capVariables)[name]> | undefined }

/** The limits that the variables set. */
export const capSettings = (values: Values): Caps => ({
  keys: definedFields({
    requestsPerSecond: values.TOOLTRAIL_KEY_RPS,
    activeRuns: values.TOOLTRAIL_KEY_ACTIVE_RUNS,
    openCalls: values.TOOLTRAIL_KEY_OPEN_CALLS,
    tokensPerDay: values.TOOLTRAIL_KEY_TOKENS_PER_DAY,
  }),
  tenants: definedFields({
    tokensPerDay: values.TOOLTRAIL_TENANT_TOKENS_PER_DAY,
    dollarsPerDay: values.TOOLTRAIL_TENANT_USD_PER_DAY,
  }),
  named: new Map(
    Object.entries(values.TOOLTRAIL_TENANT_BUDGETS ?? {}).map(([tenant, budget]) => [
      tenant,
      { tokensPerDay: budget.tokens_per_day, dollarsPerDay: budget.usd_per_day },
    ]),
  ),
})
