import { hash } from 'node:crypto'
import type { HistoryDocument, HistoryFilters, HistoryRole, HistoryScope } from '../../../domain/history.ts'

/**
 * Filters as tokens of the full-text index, so that a match skips what they exclude. They begin with a private-use character,
 * which no text's token has.
 */
const MARK = '\uE000'
const HOUR_MS = 3_600_000
/** Hours, and blocks of 32 of the level before: 1 hour, 32 hours, 43 days, 3.7 years. */
const TIME_LEVELS = 4
const BLOCK = 32

/** All tokens that a document can be filtered by. */
export function scopeTokens(document: HistoryDocument): string[] {
  const { tenant, session, owner, role, agent, runId, toolName, status } = document
  return [
    tenantToken(tenant),
    token('s', tenant, session),
    ...(owner === undefined ? [] : [token('o', tenant, owner)]),
    roleToken(role),
    token('a', agent),
    token('u', runId),
    ...(toolName === undefined ? [] : [token('n', toolName)]),
    ...(status === undefined ? [] : [token('x', status)]),
    ...levels().map((level) => timeToken(level, hourOf(document.time))),
  ]
}

/**
 * The part of a match expression that admits what the scope and the filters admit, times to the hour; undefined when that is
 * everything. `alone`: nearly all documents are the tenant's, so that its token would cost much and exclude little.
 */
export function scopeExpression(scope: HistoryScope, filters: HistoryFilters, alone = false): string | undefined {
  const { tenant } = scope
  const wanted = [
    ...optional(scope.session, (session) => token('s', tenant, session)),
    ...optional(filters.session, (session) => token('s', tenant, session)),
    ...optional(scope.owner, (owner) => token('o', tenant, owner)),
    ...optional(filters.owner, (owner) => token('o', tenant, owner)),
    ...optional(filters.role, roleToken),
    ...optional(filters.tool, (tool) => token('n', tool)),
    ...optional(filters.status, (status) => token('x', status)),
    ...optional(filters.agent, (agent) => token('a', agent)),
  ]
  // The tokens of a session and of an owner name their tenant, which is why they need no other.
  const narrow = scope.session ?? filters.session ?? scope.owner ?? filters.owner
  const isTenantNeeded = narrow === undefined && !(alone && filters.notRun === undefined)
  const all = [...(isTenantNeeded ? [tenantToken(tenant)] : []), ...wanted].map(quote)
  const times = timeTokens(filters.since, filters.until)
  if (times !== undefined) all.push(`(${times.map(quote).join(' OR ')})`)
  if (all.length === 0) return undefined
  const not = filters.notRun === undefined ? '' : ` NOT ${quote(token('u', filters.notRun))}`
  return `(${all.join(' AND ')})${not}`
}

export const tenantToken = (tenant: string): string => token('t', tenant)
export const roleToken = (role: HistoryRole): string => token('r', role)

/** Quotes a token for a match expression. */
export const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** Ids may hold anything: a hash is always one token. 80 bits, and the rows found are compared with the ids themselves. */
function token(kind: string, ...values: readonly string[]): string {
  return MARK + kind + hash('sha256', JSON.stringify(values)).slice(0, 20)
}

const optional = <Value>(value: Value | undefined, make: (value: Value) => string): string[] =>
  value === undefined ? [] : [make(value)]

const levels = (): number[] => Array.from({ length: TIME_LEVELS }, (_, level) => level)
const hourOf = (time: number): number => Math.floor(time / HOUR_MS)
const timeToken = (level: number, hour: number): string =>
  `${MARK}h${level}-${Math.floor(hour / BLOCK ** level).toString(36)}`

/** Tokens that cover the hours from `since` to `until`, as few as there are; undefined where neither is set. */
function timeTokens(since: number | undefined, until: number | undefined): string[] | undefined {
  if (since === undefined && until === undefined) return undefined
  const end = BLOCK ** (TIME_LEVELS - 1) * 64
  let from = Math.min(end, Math.max(0, hourOf(since ?? 0)))
  let to = Math.min(end, Math.max(0, hourOf(until ?? Infinity) + 1))
  const tokens: string[] = []
  for (let level = 0; level < TIME_LEVELS && from < to; level++) {
    const size = BLOCK ** level
    const last = level === TIME_LEVELS - 1
    for (; from < to && (last || from % (size * BLOCK) !== 0); from += size) tokens.push(timeToken(level, from))
    for (; to > from && (last || to % (size * BLOCK) !== 0); to -= size) tokens.push(timeToken(level, to - size))
  }
  return tokens.length === 0 ? [token('none')] : tokens
}
