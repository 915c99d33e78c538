import { createRoute } from '@hono/zod-openapi'
import { sha256 } from '../../../domain/hash.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { PRICE_LISTS } from '../../../domain/usage/model-prices.ts'
import { dayOf } from '../../../domain/usage/usage-count.ts'
import type { App, AppDependencies } from '../../dependencies.ts'
import { invalidRequest } from '../../middleware/validation.ts'
import { cursorNotFound } from '../page-cursor.ts'
import { usageEntries } from './entry.ts'
import { LIST_PROBLEMS } from '../problem-responses.ts'
import { UsagePageSchema, usageQuery } from './schema.ts'
import type { UsageGroup } from '../../../ports/usage-ledger.ts'

const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
const MAX_DAYS = 366

const readUsage = createRoute({
  method: 'get',
  path: '/v1/usage',
  operationId: 'readUsage',
  summary: 'Sum up tokens, and what they cost, by day, agent, owner, session or model',
  tags: ['Usage'],
  request: { query: usageQuery },
  responses: {
    200: { description: 'A page of sums.', content: { 'application/json': { schema: UsagePageSchema } } },
    ...LIST_PROBLEMS,
  },
})

/** Shows the tokens and costs of completions, within the caller's scope. */
export function usageRoutes(app: App, { usage, clock }: Pick<AppDependencies, 'usage' | 'clock'>): void {
  app.openapi(readUsage, async (c) => {
    const { tenant, owner } = c.get('caller')
    const { by, limit, after, ...days } = c.req.valid('query')
    const to = days.to ?? dayOf(clock.now())
    const from = days.from ?? dayOf(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS)
    requireDays(from, to)
    const sums = await usage.sums({ tenant, from, to, by, ...definedFields({ owner }) })
    const entries = usageEntries(by, sums)
    const last = after === undefined ? -1 : entries.findIndex(({ key }) => cursorOf(by, key) === after)
    // Entries are never removed. So a cursor without an entry comes from another list.
    if (after !== undefined && last === -1) throw cursorNotFound()
    const data = entries.slice(last + 1, last + 1 + limit)
    const end = data.at(-1)
    const next = end !== undefined && entries.length > last + 1 + limit ? cursorOf(by, end.key) : null
    return c.json({ object: 'list' as const, data, next, has_more: next !== null, price_lists: PRICE_LISTS }, 200)
  })
}

function requireDays(from: string, to: string): void {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days >= 1 && days <= MAX_DAYS) return
  const message = days < 1 ? 'must not be after `to`' : `must be at most ${MAX_DAYS - 1} days before \`to\``
  throw invalidRequest([{ path: 'query.from', message }])
}

/** Characters of the hash in a cursor. */
const HASH_CHARACTERS = 22

/**
 * The cursor of the page after this entry. It contains a hash of the key, because a key may be longer than a cursor.
 */
const cursorOf = (by: UsageGroup, key: string | null): string =>
  `usage_${sha256(JSON.stringify([by, key]), 'base64url').slice(0, HASH_CHARACTERS)}`
