import { sha256 } from '../../../../domain/hash.ts'
import type { HistoryDocument, HistoryFilters, HistoryRole, HistoryScope } from '../../../../domain/history.ts'
import { coveringTokens, hourOf, MARK, tokensOfHour } from './time-tokens.ts'

/* Filters are tokens of the full-text index, so that a match skips the documents that a filter excludes. */

/** Returns all filter tokens of a document, joined by spaces. */
export function scopeText(document: HistoryDocument): string {
  const { feedback = [], superseded } = document
  const texts = [
    sharedText(document),
    kindText(document),
    ...feedback.map((rating) => token('f', rating)),
    ...optional(superseded, () => SUPERSEDED),
  ]
  return texts.join(' ')
}

/** Returns the tokens of a document's role, tool and status. They are cached, because there are few combinations. */
function kindText({ role, toolName, status }: HistoryDocument): string {
  const name = `${role} ${status ?? ''}${toolName === undefined ? '' : ` ${toolName}`}`
  const made =
    kinds.get(name) ??
    [
      roleToken(role),
      ...optional(toolName, (tool) => token('n', tool)),
      ...optional(status, (is) => token('x', is)),
    ].join(' ')
  if (kinds.size >= REMEMBERED) kinds.clear()
  kinds.set(name, made)
  return made
}
const kinds = new Map<string, string>()

/**
 * Returns the document's tokens for the fields that rarely change from document to document. These tokens are cached,
 * because computing them for each document took a twentieth of the time of indexing.
 */
function sharedText({ tenant, session, owner, agent, runId, time }: HistoryDocument): string {
  const of = [tenant, session, owner, agent, runId, hourOf(time)]
  if (shared?.of.every((value, place) => value === of[place]) === true) return shared.text
  const tokens = [
    tenantToken(tenant),
    token('s', tenant, session),
    ...(owner === undefined ? [] : [token('o', tenant, owner)]),
    token('a', agent),
    token('u', runId),
    ...tokensOfHour(hourOf(time)),
  ]
  shared = { of, text: tokens.join(' ') }
  return shared.text
}
let shared: { readonly of: readonly unknown[]; readonly text: string } | undefined

/** Bounds of a match within its tenant's range. Documents must match all expressions of `must`, and none of `not`. */
export interface Bounds {
  readonly must: readonly string[]
  readonly not: readonly string[]
}

/**
 * Returns the tokens that select a scope's documents within the tenant's range. Tokens of sessions and owners include
 * the tenant.
 */
export function scopeTokensOf({ tenant, session, owner }: HistoryScope): string[] {
  return [
    ...optional(session, (name) => token('s', tenant, name)),
    ...optional(owner, (name) => token('o', tenant, name)),
  ]
}

/** Returns the bounds for the scope and the filters. Times are rounded to whole hours. */
export function boundsOf(scope: HistoryScope, filters: HistoryFilters): Bounds {
  const { tenant } = scope
  const wanted = [
    ...scopeTokensOf(scope),
    ...optional(filters.session, (session) => token('s', tenant, session)),
    ...optional(filters.owner, (owner) => token('o', tenant, owner)),
    ...optional(filters.role, roleToken),
    ...optional(filters.tool, (tool) => token('n', tool)),
    ...optional(filters.status, (status) => token('x', status)),
    ...optional(filters.feedback, (rating) => token('f', rating)),
    ...optional(filters.agent, (agent) => token('a', agent)),
    ...(filters.superseded === true ? [SUPERSEDED] : []),
  ].map(quote)
  const times = coveringTokens(filters.since, filters.until)
  const sessions = filters.sessions?.map((session) => sessionToken(tenant, session))
  return {
    must: [
      ...wanted,
      ...optional(times, (tokens) => anyExpression(tokens.map(quote))),
      ...optional(sessions, anyExpression),
    ],
    not: [
      ...optional(filters.notRun, (run) => quote(token('u', run))),
      ...(filters.superseded === false ? [SUPERSEDED_ENTRIES] : []),
    ],
  }
}

/** Restricts bounds to one session. */
export const withinSession = ({ must, not }: Bounds, tenant: string, session: string): Bounds => ({
  must: [...must, sessionToken(tenant, session)],
  not,
})

/** Excludes sessions from bounds. */
export const withoutSessions = ({ must, not }: Bounds, tenant: string, sessions: Iterable<string>): Bounds => ({
  must,
  not: [...not, ...Array.from(sessions, (session) => sessionToken(tenant, session))],
})

const sessionToken = (tenant: string, session: string): string => quote(token('s', tenant, session))

/** Returns an expression that matches if any of these expressions matches. Without expressions, it matches nothing. */
export const anyExpression = (expressions: readonly string[]): string =>
  `(${(expressions[0] === undefined ? [quote(token('none'))] : expressions).join(' OR ')})`

/**
 * Restricts an expression to bounds. Without an expression, the result matches all documents of the tenant within the
 * bounds.
 */
export function within(expression: string | undefined, tenant: string, { must, not }: Bounds): string {
  const all = [...(expression === undefined ? [] : [expression]), ...must]
  const joined = all.length === 0 ? quote(tenantToken(tenant)) : all.join(' AND ')
  return not.length === 0 ? joined : `(${joined}) NOT (${not.join(' OR ')})`
}

const tenantToken = (tenant: string): string => token('t', tenant)
export const roleToken = (role: HistoryRole): string => token('r', role)

/** Quotes a token for a match expression. */
export const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`

/**
 * Returns a token for an id. Ids may contain any character, but a hash is always one token. Two ids may have equal
 * hashes, which have only 80 bits. So the ids of found rows are compared too.
 */
function token(kind: string, ...values: readonly string[]): string {
  const name = kind + JSON.stringify(values)
  const made = hashed.get(name) ?? MARK + kind + sha256(JSON.stringify(values)).slice(0, 20)
  if (hashed.size >= REMEMBERED) hashed.clear()
  hashed.set(name, made)
  return made
}

/** Cache of hashes. Most tokens recur in the next documents, and hashing took a thirtieth of the time of indexing. */
const hashed = new Map<string, string>()
const REMEMBERED = 1_000

const optional = <Value>(value: Value | undefined, make: (value: Value) => string): string[] =>
  value === undefined ? [] : [make(value)]

/** Token of the documents of superseded runs. */
const SUPERSEDED = token('p', 'superseded')
/** Match expression for the documents of superseded runs. */
export const SUPERSEDED_ENTRIES = quote(SUPERSEDED)
