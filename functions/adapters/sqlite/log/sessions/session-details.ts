import { definedFields } from '../../../../domain/defined-fields.ts'
import type { JsonObject } from '../../../../domain/json.ts'
import type { Session } from '../../../../domain/session.ts'
import { INDEXED_METADATA, type IndexedMetadata } from '../../../../domain/session-filter.ts'
import { metadataText } from '../../../../domain/metadata-text.ts'
import { readOne, write, type Database } from '../../database.ts'
import { toColumn } from '../../exact-text.ts'
import type { SessionRow } from './session-rows.ts'
import { readJson } from '../../../../log/json/exact-json.ts'

/** The fields of a session that are stored as JSON in `details`. */
export type Details = Pick<
  Session,
  'user' | 'title' | 'instructions' | 'metadata' | 'ownerBound' | 'byChannel' | 'forkedFrom'
>

/** Makes details of these fields. Null and undefined mean that a field is absent. */
export function detailsOf(given: {
  readonly user?: string | null | undefined
  readonly title?: string | null | undefined
  readonly instructions?: string | null | undefined
  readonly metadata: Session['metadata']
  readonly ownerBound?: true | undefined
  readonly byChannel?: true | undefined
  readonly forkedFrom?: Session['forkedFrom'] | undefined
}): Details {
  return {
    ...(typeof given.user === 'string' ? { user: given.user } : {}),
    ...(typeof given.title === 'string' ? { title: given.title } : {}),
    ...(typeof given.instructions === 'string' ? { instructions: given.instructions } : {}),
    metadata: given.metadata,
    ...definedFields({ ownerBound: given.ownerBound, byChannel: given.byChannel, forkedFrom: given.forkedFrom }),
  }
}

/** Adds the details of a new session. */
export function insertDetails(database: Database, session: number, details: Details): void {
  write(database, 'INSERT INTO details (session, body) VALUES (?, ?)', session, JSON.stringify(details))
}

/** Replaces the details. */
export function writeDetails(database: Database, row: SessionRow, details: Details): void {
  write(database, 'UPDATE details SET body = ? WHERE session = ?', JSON.stringify(details), row.number)
}

/** Returns the details of a session. */
export function readDetails(database: Database, row: SessionRow): Details {
  const details = readOne<{ body: string }>(database, 'SELECT body FROM details WHERE session = ?', row.number)
  if (details === undefined) throw new Error(`session ${row.session} has no details`)
  return readJson(details.body) as Details
}

/** Returns the columns of the metadata fields that have indexes. */
export function indexedColumns(metadata: JsonObject): Pick<SessionRow, IndexedMetadata> {
  const columns = INDEXED_METADATA.map((name) => [name, columnOf(metadataText(metadata[name]))] as const)
  return Object.fromEntries(columns) as Pick<SessionRow, IndexedMetadata>
}

const columnOf = (text: string | undefined): string | null => (text === undefined ? null : toColumn(text))
