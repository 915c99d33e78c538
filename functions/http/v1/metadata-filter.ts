import { z } from '@hono/zod-openapi'
import { metadataFilter, type MetadataFilter } from '../../domain/session-filter.ts'

const PREFIX = 'metadata.'
const MAX_FILTERS = 8
const MAX_KEY_CHARS = 128
const MAX_VALUE_CHARS = 1_024

const description = 'Only sessions with this value. A value that ends in `*` is a prefix. Any other key works the same.'
const documented = z.string().optional().openapi({ description, example: '/home/ann/shop' })

/**
 * Creates the schema of a query that accepts `metadata.<key>=<value>` besides the fields of `shape`. The schema rejects
 * all other names.
 */
export function withMetadata<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = new Set(Object.keys(shape))
  return z.looseObject({ ...shape, [`${PREFIX}folder`]: documented }).superRefine((query, context) => {
    const others = Object.keys(query).filter((name) => !known.has(name))
    const unknown = others.filter((name) => !name.startsWith(PREFIX))
    if (unknown.length > 0) context.addIssue({ code: 'unrecognized_keys', keys: unknown, input: query })
    const filters = others.filter((name) => name.startsWith(PREFIX))
    for (const name of filters) {
      const message = faultOf(name.slice(PREFIX.length), query[name])
      if (message !== undefined) context.addIssue({ code: 'custom', path: [name], message })
    }
    if (filters.length > MAX_FILTERS)
      context.addIssue({ code: 'custom', path: ['metadata'], message: `can name at most ${MAX_FILTERS} fields` })
  })
}

function faultOf(key: string, value: unknown): string | undefined {
  if (key === '' || key.length > MAX_KEY_CHARS) return `must name a field of 1 to ${MAX_KEY_CHARS} characters`
  if (typeof value !== 'string') return 'can be given once only'
  if (value === '' || value === '*') return 'must not be empty'
  return value.length > MAX_VALUE_CHARS ? `must have at most ${MAX_VALUE_CHARS} characters` : undefined
}

/** The metadata filters of a query validated by `withMetadata`. */
export function metadataFilters(query: Readonly<Record<string, unknown>>): MetadataFilter[] {
  return Object.entries(query).flatMap(([name, value]) =>
    name.startsWith(PREFIX) && typeof value === 'string' ? [metadataFilter(name.slice(PREFIX.length), value)] : [],
  )
}
