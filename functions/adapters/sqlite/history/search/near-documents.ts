import { WINDOW_DOCUMENTS, WINDOW_EVENTS } from '../../../../search/ranking/context.ts'
import { readAll, type Database } from '../../database.ts'
import type { Audience } from '../vocabulary/audiences.ts'
import type { FoundDocument } from './rows.ts'

/** Returns the ids of the first documents of each event around a hit, in the order of the log. */
export function nearDocuments(database: Database, { tenant, range }: Audience, { hit }: FoundDocument): number[] {
  const { session, messageId } = hit
  const events = (sign: string, order: string, limit: number): string =>
    `SELECT id, message FROM (SELECT id, message FROM historyMessages
       WHERE tenant = ?1 AND session = ?2 AND message ${sign} ?3 ORDER BY message ${order} LIMIT ${limit})`
  const rows = readAll<{ ids: string }>(
    database,
    `SELECT (SELECT json_group_array(id) FROM (
         SELECT id FROM historyDocuments WHERE message = e.id AND id BETWEEN ?4 AND ?5
         ORDER BY id LIMIT ${WINDOW_DOCUMENTS})) AS ids
     FROM (${events('<', 'DESC', WINDOW_EVENTS)} UNION ALL ${events('>=', 'ASC', WINDOW_EVENTS + 1)}) e
     ORDER BY e.message`,
    tenant,
    session,
    messageId,
    range.first,
    range.last,
  )
  return rows.flatMap(({ ids }) => JSON.parse(ids) as number[])
}
