import { z } from 'zod'

const whole = z.int().positive()

/**
 * Limits of keys without limits of their own: requests per second, concurrent runs, concurrent streams and waiting
 * calls, and tokens per day (UTC).
 */
export const keyCaps = z
  .strictObject({
    requestsPerSecond: whole.optional(),
    activeRuns: whole.max(1_000).optional(),
    openCalls: whole.max(1_000).optional(),
    tokensPerDay: whole.optional(),
  })
  .default({ requestsPerSecond: 20, activeRuns: 50, openCalls: 100, tokensPerDay: 20_000_000 })

/** Daily limits of each tenant (UTC): tokens, and US dollars at list prices. Default: no limit. */
export const tenantBudget = z
  .strictObject({
    tokensPerDay: whole.optional(),
    dollarsPerDay: z.number().positive().optional(),
    /** Limits of single tenants that replace the general ones; null: no limit. */
    tenants: z
      .record(
        z.string().regex(/^[a-z0-9-]{1,64}$/, 'is not the name of a tenant'),
        z.strictObject({
          tokensPerDay: whole.nullable().optional(),
          dollarsPerDay: z.number().positive().nullable().optional(),
        }),
      )
      .refine((tenants) => JSON.stringify(tenants).length <= 2_000, 'must be at most 2,000 characters of JSON')
      .optional(),
  })
  .default({})
