import type { HistoryDocument, HistoryScope } from '../../../../domain/history.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { readOne, statement, write, type Database } from '../../database.ts'
import { quote, scopeTokensOf } from '../search/scope.ts'

/**
 * Number of ids for each tenant's documents, and also for its words: about eight thousand million. There is space for a
 * million tenants.
 */
const SPAN = 2 ** 33

/** Ids from `first` to `last`, both included. */
export interface IdRange {
  readonly first: number
  readonly last: number
}

const rangeOf = (tenant: number): IdRange => ({ first: tenant * SPAN, last: (tenant + 1) * SPAN - 1 })

/** The documents that a search may see: all of a tenant, an owner's sessions, or one session. */
export interface Audience {
  readonly tenant: number
  /**
   * Row of the session, or of the owner if the audience has all sessions of an owner. Neither is set for a whole
   * tenant.
   */
  readonly session?: number
  readonly owner?: number
  /** Range of ids that contains the audience's documents. */
  readonly range: IdRange
  /** Range of word ids of the audience's tenant. */
  readonly wordRange: IdRange
  /** Filter tokens that select the audience's documents within the range. */
  readonly tokens: readonly string[]
  /** Number of documents in the audience. */
  readonly documents: number
  /** A value that changes whenever the tenant's documents change. */
  readonly version: string
}

interface TenantRow {
  readonly id: number
  readonly documents: number
  readonly lastDocument: number
}

interface AudienceRow {
  readonly id: number
  readonly owner: number | null
  readonly documents: number
}

const SELECT_AUDIENCE = 'SELECT id, owner, documents FROM historyAudiences WHERE tenant = ? AND kind = ? AND name = ?'

/** Returns the audience of a scope; undefined if it has no documents. */
export function findAudience(database: Database, scope: HistoryScope): Audience | undefined {
  const sql = 'SELECT id, documents, lastDocument FROM historyTenants WHERE tenant = ?'
  const tenant = readOne<TenantRow>(database, sql, scope.tenant)
  if (tenant === undefined) return undefined
  const base = {
    tenant: tenant.id,
    range: rangeOf(tenant.id),
    wordRange: rangeOf(tenant.id),
    tokens: scopeTokensOf(scope).map(quote),
    version: `${tenant.lastDocument} ${tenant.documents}`,
  }
  if (scope.session === undefined && scope.owner === undefined) return { ...base, documents: tenant.documents }
  const find = (kind: 'owner' | 'session', name: string | undefined): AudienceRow | undefined =>
    name === undefined ? undefined : findRow(database, tenant.id, kind, name)
  const [owner, session] = [find('owner', scope.owner), find('session', scope.session)]
  const narrowest = scope.session === undefined ? owner : session
  if (narrowest === undefined) return undefined
  if (scope.session !== undefined && scope.owner !== undefined && session?.owner !== owner?.id) return undefined
  const row = scope.session === undefined ? { owner: narrowest.id } : { session: narrowest.id }
  return { ...base, ...row, documents: narrowest.documents }
}

/** Returns the audiences that include a session: that of its tenant, and that of its owner. */
export function audiencesOf(
  database: Database,
  rows: SessionRows,
): { readonly tenant: Audience | undefined; readonly owner: Audience | undefined } {
  const sql = `SELECT tenant, (SELECT name FROM historyAudiences WHERE id = ?) AS owner FROM historyTenants WHERE id = ?`
  const names = readOne<{ tenant: string; owner: string | null }>(database, sql, rows.owner ?? null, rows.tenant)
  if (names === undefined) return { tenant: undefined, owner: undefined }
  const { tenant, owner } = names
  return {
    tenant: findAudience(database, { tenant }),
    owner: owner === null ? undefined : findAudience(database, { tenant, owner }),
  }
}

/**
 * Row ids of a session, of its tenant and of its owner. The document counts of all three rows include the session's
 * documents.
 */
export interface SessionRows {
  readonly tenant: number
  readonly session: number
  readonly owner: number | undefined
}

/** Returns the tenant's number; undefined if nothing of it was ever indexed. */
function findTenant(database: Database, tenant: string): number | undefined {
  return readOne<{ id: number }>(database, 'SELECT id FROM historyTenants WHERE tenant = ?', tenant)?.id
}

/**
 * Returns the rows of the document's session, and creates missing ones. A new session gets the document's owner. Call it
 * inside a transaction.
 */
export function sessionRows(
  database: Database,
  document: Pick<HistoryDocument, keyof SessionKey | 'owner'>,
): SessionRows {
  const known = findSessionRows(database, document)
  if (known !== undefined) return known
  const tenant = findTenant(database, document.tenant) ?? insert(database, INSERT_TENANT, document.tenant)
  const owner =
    document.owner === undefined
      ? undefined
      : (findRow(database, tenant, 'owner', document.owner)?.id ??
        insert(database, INSERT_AUDIENCE, tenant, 'owner', document.owner, null))
  const session = insert(database, INSERT_AUDIENCE, tenant, 'session', document.session, owner ?? null)
  return { tenant, owner, session }
}

const INSERT_TENANT = 'INSERT INTO historyTenants (tenant) VALUES (?)'
const INSERT_AUDIENCE = 'INSERT INTO historyAudiences (tenant, kind, name, owner) VALUES (?, ?, ?, ?)'

const insert = (database: Database, sql: string, ...values: (string | number | null)[]): number =>
  Number(statement(database, sql).run(...values).lastInsertRowid)

function findRow(database: Database, tenant: number, kind: 'owner' | 'session', name: string): AudienceRow | undefined {
  return readOne<AudienceRow>(database, SELECT_AUDIENCE, tenant, kind, name)
}

/** Returns the session's rows; undefined if nothing of it is indexed. */
export function findSessionRows(database: Database, { tenant, session }: SessionKey): SessionRows | undefined {
  const number = findTenant(database, tenant)
  if (number === undefined) return undefined
  const row = findRow(database, number, 'session', session)
  return row && { tenant: number, session: row.id, owner: row.owner ?? undefined }
}

/*
 * The statements below avoid forms that FTS5 treats as a savepoint (`RETURNING`, several rows, upserts). At a
 * savepoint, FTS5 writes its buffered words as a separate segment. This would cost more than all other work.
 */

/** Returns the greatest document id that was ever reserved for the tenant. */
export function lastDocument(database: Database, tenant: number): number {
  const sql = 'SELECT lastDocument AS id FROM historyTenants WHERE id = ?'
  return rangeOf(tenant).first + idOf(readOne(database, sql, tenant))
}

/**
 * Reserves the document ids up to `last`, greater than all earlier ones of the tenant. Call it inside a transaction.
 */
export function reserveDocuments(database: Database, tenant: number, last: number): void {
  const sql = 'UPDATE historyTenants SET lastDocument = ? WHERE id = ?'
  write(database, sql, last - rangeOf(tenant).first, tenant)
}

/** Reserves `count` word ids, and returns the first. Call it inside a transaction. */
export function reserveWords(database: Database, tenant: number, count: number): number {
  const last = lastWord(database, tenant)
  const { first } = rangeOf(tenant)
  write(database, 'UPDATE historyTenants SET lastWord = ? WHERE id = ?', last - first + count, tenant)
  return last + 1
}

/** Returns the last word id of the tenant. It changes whenever any process reserves words. */
export function lastWord(database: Database, tenant: number): number {
  return (
    rangeOf(tenant).first + idOf(readOne(database, 'SELECT lastWord AS id FROM historyTenants WHERE id = ?', tenant))
  )
}

/** Changes the document counts by `change`. Call it inside a transaction. */
export function countDocuments(database: Database, { tenant, session, owner }: SessionRows, change: number): void {
  if (change === 0) return
  write(database, 'UPDATE historyTenants SET documents = documents + ? WHERE id = ?', change, tenant)
  const audiences = owner === undefined ? [session] : [session, owner]
  for (const audience of audiences)
    write(database, 'UPDATE historyAudiences SET documents = documents + ? WHERE id = ?', change, audience)
}

/** Whether the session has no documents left. */
export const isEmpty = (database: Database, { session }: SessionRows): boolean => hasNone(database, session)

/** Whether the session has an owner who has no documents left. */
export const isLastOfOwner = (database: Database, { owner }: SessionRows): boolean =>
  owner !== undefined && hasNone(database, owner)

const hasNone = (database: Database, audience: number): boolean =>
  readOne(database, 'SELECT 1 FROM historyAudiences WHERE id = ? AND documents > 0', audience) === undefined

/**
 * Removes a session without documents and words, and its owner if this was the last session. Call it inside a
 * transaction.
 */
export function removeSession(database: Database, { session, owner }: SessionRows): void {
  write(database, 'DELETE FROM historyAudiences WHERE id = ? AND documents = 0', session)
  if (owner === undefined) return
  const unused = 'NOT EXISTS (SELECT 1 FROM historyOwnerWords WHERE owner = ?1)'
  write(database, `DELETE FROM historyAudiences WHERE id = ?1 AND documents = 0 AND ${unused}`, owner)
}

function idOf(row: { readonly id: number } | undefined): number {
  if (row === undefined) throw new Error('the history tables returned nothing')
  return row.id
}
