import { readAll, readOne, type Database } from '../../../../functions/adapters/sqlite/database.ts'
import { createDocumentReader } from '../../../../functions/search/tokens/document-words.ts'
import type { HistoryRole } from '../../../../functions/domain/history.ts'

/** Tables whose rows remain after a deletion: tombstones, counters of tenants, and rows without a session. */
const KEPT = ['sessions', 'deletions', 'historyTenants', 'historyCursorSecret', 'sqlite_sequence']

/** Returns the tables of a database that have rows although every session of the database was deleted. */
export function leftovers(database: Database): string[] {
  const tables = readAll<{ name: string }>(
    database,
    `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_schema'`,
  ).map(({ name }) => name)
  const full = [...tables, ...termsOf(database)].filter(
    (name) => !KEPT.includes(name) && readOne(database, `SELECT 1 FROM ${name} LIMIT 1`) !== undefined,
  )
  const counted = readOne(database, 'SELECT 1 FROM historyTenants WHERE documents <> 0') !== undefined
  return counted ? [...full, 'historyTenants'] : full
}

/** Returns the names of two tables that list the terms of the full-text tables. One is temporary and is created here. */
function termsOf(database: Database): string[] {
  database.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS temp.termsOfParts USING fts5vocab (main, historyWordParts, row)`)
  return ['historyWordCounts', 'temp.termsOfParts']
}

interface StoredDocument {
  readonly tenant: number
  readonly session: number
  readonly owner: number | null
  readonly role: HistoryRole
  readonly text: string
  readonly toolName: string | null
  readonly call: string | null
}

const AUDIENCE_OF = `historyMessages m JOIN historyAudiences a ON a.tenant = m.tenant AND a.kind = 'session' AND a.name = m.session`

/** Rows that contradict other rows. */
const FAULTS: readonly (readonly [fault: string, sql: string])[] = [
  ['a message is marked', 'SELECT 1 FROM historyMarks'],
  [
    'a message of a live session is not indexed',
    `SELECT 1 FROM messages m JOIN sessions s ON s.number = m.session AND s.live = 1
     WHERE m.id NOT IN (SELECT h.message FROM historyMessages h)`,
  ],
  [
    'a document is of a deleted session',
    `SELECT 1 FROM historyMessages h JOIN historyTenants t ON t.id = h.tenant
     WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = t.tenant AND s.session = h.session AND s.live = 1)`,
  ],
  [
    'a session has another number of documents',
    `SELECT 1 FROM historyAudiences a WHERE a.kind = 'session' AND a.documents <> (SELECT count(*) FROM historyDocuments d
     JOIN historyMessages m ON m.id = d.message WHERE m.tenant = a.tenant AND m.session = a.name)`,
  ],
  [
    'an owner has another number of documents, or none',
    `SELECT 1 FROM historyAudiences a WHERE a.kind = 'owner' AND (a.documents = 0 OR a.documents <> (
     SELECT coalesce(sum(s.documents), 0) FROM historyAudiences s WHERE s.owner = a.id))`,
  ],
  [
    'a tenant has another number of documents',
    `SELECT 1 FROM historyTenants t WHERE documents <> (SELECT count(*) FROM historyDocuments d
     JOIN historyMessages m ON m.id = d.message WHERE m.tenant = t.id)`,
  ],
  [
    'a session has another owner than its documents',
    `SELECT 1 FROM ${AUDIENCE_OF} WHERE m.owner IS NOT (SELECT o.name FROM historyAudiences o WHERE o.id = a.owner)`,
  ],
  ['a session of the index has no document', "SELECT 1 FROM historyAudiences WHERE kind = 'session' AND documents = 0"],
  [
    'words are of no session',
    'SELECT 1 FROM historySessionWords WHERE session NOT IN (SELECT id FROM historyAudiences)',
  ],
  ['words are of no owner', 'SELECT 1 FROM historyOwnerWords WHERE owner NOT IN (SELECT id FROM historyAudiences)'],
]

/** Returns the errors in the index tables. Call it when nothing is pending. */
export function indexFaults(database: Database): string[] {
  const faults = FAULTS.filter(([, sql]) => readOne(database, `${sql} LIMIT 1`) !== undefined).map(([fault]) => fault)
  return [...faults, ...wordFaults(database)]
}

function wordFaults(database: Database): string[] {
  const ofSessions = setOf(
    readAll<{ of: number; words: string }>(database, 'SELECT session AS of, words FROM historySessionWords').flatMap(
      ({ of, words }) => words.split(' ').map((word) => ({ of, word })),
    ),
  )
  const ofOwners = setOf(
    readAll(
      database,
      'SELECT o.owner AS of, v.word FROM historyOwnerWords o JOIN historyVocabulary v ON v.id = o.word',
    ),
  )
  const ofTenants = setOf(readAll(database, 'SELECT tenant AS of, word FROM historyVocabulary'))
  const reader = createDocumentReader()
  const faults = new Set<string>()
  for (const one of readAll<StoredDocument>(database, SELECT_DOCUMENTS))
    for (const word of wordsOf(reader, one)) {
      if (!ofSessions.has(`${one.session} ${word}`)) faults.add(`a session does not know its word ${word}`)
      if (!ofTenants.has(`${one.tenant} ${word}`)) faults.add(`a tenant does not know its word ${word}`)
      if (one.owner !== null && !ofOwners.has(`${one.owner} ${word}`))
        faults.add(`an owner does not know their word ${word}`)
    }
  const sessions = readAll<{ id: number; tenant: number; owner: number | null }>(
    database,
    "SELECT id, tenant, owner FROM historyAudiences WHERE kind = 'session'",
  )
  const isSaid = (by: 'tenant' | 'owner', named: string): boolean => {
    const [of, word] = named.split(' ')
    return sessions.some((session) => session[by] === Number(of) && ofSessions.has(`${session.id} ${word}`))
  }
  for (const named of ofTenants)
    if (!isSaid('tenant', named)) faults.add(`a tenant knows a word that no session has: ${named}`)
  for (const named of ofOwners)
    if (!isSaid('owner', named)) faults.add(`an owner knows a word that no session has: ${named}`)
  return [...faults]
}

const SELECT_DOCUMENTS = `SELECT a.tenant, a.id AS session, a.owner, d.role, d.text, m.tool AS toolName, m.call
  FROM ${AUDIENCE_OF} JOIN historyDocuments d ON d.message = m.id`

function wordsOf(reader: ReturnType<typeof createDocumentReader>, one: StoredDocument): string[] {
  const { role, text, toolName, call } = one
  const of = { ...(toolName === null ? {} : { toolName }), ...(call === null ? {} : { call }) }
  return reader.read({ role, text, ...of }).runs.flatMap(({ knowable }) => knowable.map((word) => word.text))
}

const setOf = (words: readonly { readonly of: number; readonly word: string }[]): ReadonlySet<string> =>
  new Set(words.map(({ of, word }) => `${of} ${word}`))
