import { z } from '@hono/zod-openapi'
import { cursor, page, pageLimit, UsageSchema } from '../fields.ts'

const group = z.enum(['day', 'agent', 'owner', 'session', 'model'])
const date = z.iso
  .date('must be a date such as 2026-11-14 (UTC)')
  .openapi({ type: 'string', format: 'date', example: '2026-11-14' })

export const UsageEntrySchema = z
  .object({
    object: z.literal('usage'),
    by: group,
    key: z.string().nullable().openapi({ description: 'The day, agent, owner, session or model; null: no owner.' }),
    completions: z.number().int(),
    usage: UsageSchema.omit({ provider: true }),
    cost_usd: z.number().optional().openapi({
      description: 'Cost at list prices of the tokens whose price is known; absent if no price is known.',
    }),
    unpriced_models: z.array(z.string()).optional().openapi({
      description: 'Models whose tokens have no known price and are not in `cost_usd`; absent if there are none.',
    }),
  })
  .openapi('UsageEntry', {
    example: {
      object: 'usage',
      by: 'day',
      key: '2026-11-21',
      completions: 2,
      usage: {
        input_tokens: 1_200,
        cached_input_tokens: 200,
        cache_write_tokens: null,
        output_tokens: 300,
        reasoning_tokens: null,
        total_tokens: 1_500,
      },
      cost_usd: 0.00502,
    },
  })

export const UsagePageSchema = page('UsagePage', UsageEntrySchema, {
  price_lists: z.record(z.string(), z.string()).openapi({
    description: 'The month of the price list that costs are counted with, by provider.',
    example: { anthropic: '2026-11', openai: '2026-06' },
  }),
})

export const usageQuery = z.strictObject({
  by: group.default('day'),
  from: date.optional().openapi({ description: 'First day (UTC), included. Default: 29 days before `to`.' }),
  to: date.optional().openapi({ description: 'Last day (UTC), included. Default: today.' }),
  limit: pageLimit(500, 100),
  after: cursor.optional(),
})
