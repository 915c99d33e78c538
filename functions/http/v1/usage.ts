import { createRoute } from '@hono/zod-openapi'
import { definedFields } from '../../domain/defined-fields.ts'
import { PRICE_LISTS } from '../../domain/model-prices.ts'
import { dayOf } from '../../domain/usage-count.ts'
import type { App, AppDependencies } from '../dependencies.ts'
import { invalidRequest } from '../middleware/validation.ts'
import { cursorNotFound } from './page-cursor.ts'
import { compare, usageEntries } from './resources/usage-entry.ts'
import { READ_PROBLEMS } from './responses.ts'
import { UsagePageSchema, usageQuery } from './schemas/usage.ts'

const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
const MOST_DAYS = 366

const readUsage = createRoute({
  method: 'get',
  path: '/v1/usage',
  operationId: 'readUsage',
  summary: 'Sum up tokens, and what they cost, by day, agent, owner, session or model',
  tags: ['Usage'],
  request: { query: usageQuery },
  responses: {
    200: { description: 'A page of sums.', content: { 'application/json': { schema: UsagePageSchema } } },
    ...READ_PROBLEMS,
  },
})

/** What completions have used, within what the caller may see. */
export function usageRoutes(app: App, { usage, clock }: Pick<AppDependencies, 'usage' | 'clock'>): void {
  app.openapi(readUsage, async (c) => {
    const { tenant, owner } = c.get('caller')
    const { by, limit, after, ...days } = c.req.valid('query')
    const to = days.to ?? dayOf(clock.now())
    const from = days.from ?? dayOf(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS)
    requireDays(from, to)
    const last = after === undefined ? undefined : readCursor(after)
    const sums = await usage.sums({ tenant, from, to, by, ...definedFields({ owner }) })
    const entries = usageEntries(by, sums)
    const rest = last === undefined ? entries : entries.filter(({ key }) => compare(key, last.key) > 0)
    const data = rest.slice(0, limit)
    const next = rest.length > limit ? writeCursor(data.at(-1)?.key ?? null) : null
    return c.json({ object: 'list' as const, data, next, has_more: next !== null, price_lists: PRICE_LISTS }, 200)
  })
}

function requireDays(from: string, to: string): void {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days >= 1 && days <= MOST_DAYS) return
  const message = days < 1 ? 'must not be after `to`' : `must be at most ${MOST_DAYS - 1} days before \`to\``
  throw invalidRequest([{ path: 'query.from', message }])
}

/** The key after which a page begins, as JSON: null is a key, too. */
const writeCursor = (key: string | null): string => Buffer.from(JSON.stringify([key])).toString('base64url')

function readCursor(cursor: string): { readonly key: string | null } {
  try {
    const [key, ...more] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if ((typeof key === 'string' || key === null) && more.length === 0) return { key }
  } catch {
    // Falls through: no page returned such a cursor.
  }
  throw cursorNotFound()
}
