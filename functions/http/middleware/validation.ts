import type { Hook } from '@hono/zod-openapi'
import type { ZodError, ZodType, output as Output } from 'zod'
import { faultsOf } from '../../log/faults.ts'
import type { AppEnv } from '../dependencies.ts'
import { isOpenAiPath } from './openai-error.ts'
import { RequestError } from './request-error.ts'
import type { InvalidField } from './request-error.ts'

type Issue = ZodError['issues'][number]

const PLACES: { readonly [target: string]: string } = { json: 'body', query: 'query', param: 'path', header: 'header' }
const MAX_ERRORS = 20
const MESSAGE_LENGTH = 300

/**
 * Refuses what does not fit a route's schema, with the path of each wrong field. A malformed id in the address gives 404, like
 * any other unknown id.
 */
export const refuseInvalid: Hook<unknown, AppEnv, string, unknown> = (result, c) => {
  if (result.success) return undefined
  const place = PLACES[result.target] ?? result.target
  const errors = invalidFields(place, result.error.issues)
  if (result.target === 'param')
    throw new RequestError(404, 'not_found', 'there is nothing at this address: it has a malformed id', { errors })
  const isUnusable = !isOpenAiPath(c.req.path) && result.error.issues.every((issue) => isPlacing(result.target, issue))
  throw invalidRequest(errors, isUnusable ? 422 : 400)
}

/** Query fields that place a page or select and order a list. Alone at fault, they get 422; OpenAI's API knows 400 only. */
const PLACING = /^(?:after|before|around|sort|order|group|metadata(?:\..*)?)$/su

/** Whether a page cannot be placed or selected by a field; also by a text that is well-formed, such as a `q` without a word. */
const isPlacing = (target: string, { path: [name], code }: Issue): boolean =>
  target === 'query' && typeof name === 'string' && (PLACING.test(name) || (name === 'q' && code === 'custom'))

/** The refusal of a request for its wrong fields; its message names the first. */
export function invalidRequest(errors: readonly InvalidField[], status: 400 | 422 = 400): RequestError {
  const [first] = errors
  const detail =
    first === undefined ? 'the request is not valid' : `the request is not valid: ${first.path} ${first.message}`
  return new RequestError(status, 'invalid_request', detail, { errors })
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
    if (issues.length >= MAX_ERRORS) return []
    const parsed = item.safeParse(value)
    if (parsed.success) return [parsed.data]
    issues.push(...parsed.error.issues.map((issue) => ({ ...issue, path: [index, ...issue.path] })))
    return []
  })
  if (issues.length > 0) throw invalidRequest(invalidFields(place, issues))
  return items
}

/** Issues as fields with their paths, at most 20; for a union, those of the closest branch. */
export const invalidFields = (place: string, issues: readonly Issue[]): InvalidField[] =>
  faultsOf(issues, MAX_ERRORS).map(({ path, message }) => ({
    path: pathText(place, path),
    message: (place === 'query' ? inQuery(message) : message).slice(0, MESSAGE_LENGTH).toWellFormed(),
  }))

/** A parameter that is given twice is a list. */
const inQuery = (message: string): string => (message === 'must be a string' ? 'can be given once only' : message)

function pathText(place: string, path: readonly PropertyKey[]): string {
  const text = path.reduce<string>(
    (before, key) => (typeof key === 'number' ? `${before}[${key}]` : `${before}.${String(key)}`),
    place,
  )
  return text.slice(0, MESSAGE_LENGTH).toWellFormed()
}
