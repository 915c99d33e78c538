import { z } from 'zod'

const serverless = z.strictObject({
  kind: z.literal('serverless'),
  /** Most capacity units for indexing and for searching, each: this limits the bill. AWS takes these numbers and no others. */
  maxCapacity: z.literal([2, 4, 8, 16, 32, 48, 64, 80, 96]).default(4),
})

const domain = z.strictObject({
  kind: z.literal('domain'),
  instance: z.string().regex(/^[a-z0-9]+\.[a-z0-9]+\.search$/, 'is not an instance type, such as r7g.large.search'),
  nodes: z.int().positive().max(60),
  /** GiB of each node. */
  volume: z.int().min(10).max(16_384).default(20),
  /** Three zones, one of them on standby, with master nodes of their own. Not with t3 instances. */
  standby: z.boolean().default(false),
})

/** The history index: asleep while nobody uses it, or a domain of nodes. */
export const searchKinds = z.discriminatedUnion('kind', [serverless, domain], {
  error: ({ code }) => (code === 'invalid_union' ? `must be 'serverless' or 'domain'` : undefined),
})
