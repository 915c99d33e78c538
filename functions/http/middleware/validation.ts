import type { Hook } from '@hono/zod-openapi'
import type { ZodError, ZodType, output as Output } from 'zod'
import { nearestIssues } from '../../log/nearest-issues.ts'
import type { FoundIssue } from '../../log/nearest-issues.ts'
import type { AppEnv } from '../dependencies.ts'
import { RequestError } from './request-error.ts'
import type { InvalidField } from './request-error.ts'

type Issue = ZodError['issues'][number]

const PLACES: { readonly [target: string]: string } = { json: 'body', query: 'query', param: 'path', header: 'header' }
const MOST_ERRORS = 20
const MESSAGE_LENGTH = 300

/**
 * Refuses what does not fit a route's schema, with the path of each wrong field. A malformed id in the address gives 404, like
 * any other unknown id.
 */
export const refuseInvalid: Hook<unknown, AppEnv, string, unknown> = (result) => {
  if (result.success) return undefined
  const place = PLACES[result.target] ?? result.target
  const errors = invalidFields(place, result.error.issues)
  if (result.target === 'param')
    throw new RequestError(404, 'not_found', 'there is nothing at this address: it has a malformed id', { errors })
  throw invalidRequest(errors)
}

/** The refusal of a request for its wrong fields; its message names the first. */
export function invalidRequest(errors: readonly InvalidField[]): RequestError {
  const [first] = errors
  const detail =
    first === undefined ? 'the request is not valid' : `the request is not valid: ${first.path} ${first.message}`
  return new RequestError(400, 'invalid_request', detail, { errors })
}

/**
 * The items of a list as `item` makes them. Throws `RequestError` with the path of each wrong field, and looks no further than it
 * names: a list of zod collects what is wrong with 50,000 items for a tenth of a second.
 */
export function parseItems<Item extends ZodType>(
  place: string,
  item: Item,
  values: readonly unknown[],
): Output<Item>[] {
  const issues: Issue[] = []
  const items = values.flatMap((value, index) => {
    if (issues.length >= MOST_ERRORS) return []
    const parsed = item.safeParse(value)
    if (parsed.success) return [parsed.data]
    issues.push(...parsed.error.issues.map((issue) => ({ ...issue, path: [index, ...issue.path] })))
    return []
  })
  if (issues.length > 0) throw invalidRequest(invalidFields(place, issues))
  return items
}

/** Issues as fields with their paths, at most 20; for a union, those of the closest branch. */
export function invalidFields(place: string, issues: readonly Issue[]): InvalidField[] {
  return issues
    .flatMap((issue) => nearestIssues(issue))
    .flatMap(eachKey)
    .slice(0, MOST_ERRORS)
    .map(({ path, message }) => ({
      path: pathText(place, path),
      message: plainWords(place, message).slice(0, MESSAGE_LENGTH).toWellFormed(),
    }))
}

/** Of fields that there are not, each with its own path. */
const eachKey = (issue: FoundIssue): FoundIssue[] =>
  issue.keys?.map((key) => ({ path: [...issue.path, key], message: 'is not a field of this request' })) ?? [issue]

/** zod speaks of values and types when a caller has left something out or given it twice. */
function plainWords(place: string, message: string): string {
  if (message.endsWith('received undefined')) return 'is missing'
  if (place === 'query' && message.endsWith('expected string, received array')) return 'can be given once only'
  return message
}

function pathText(place: string, path: readonly PropertyKey[]): string {
  const text = path.reduce<string>(
    (before, key) => (typeof key === 'number' ? `${before}[${key}]` : `${before}.${String(key)}`),
    place,
  )
  return text.slice(0, MESSAGE_LENGTH).toWellFormed()
}
