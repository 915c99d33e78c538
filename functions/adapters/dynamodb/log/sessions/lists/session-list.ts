import type { Session, SessionKey } from '../../../../../domain/session.ts'
import {
  MAX_COMPARED_SESSIONS,
  type SessionConditions,
  type SessionFilter,
} from '../../../../../domain/session-filter.ts'
import type { SessionStore } from '../../../../../ports/session-store.ts'
import { createSessionMatch } from '../../../../../search/session-match.ts'
import { numberAt, textAt, type Item } from '../../../attributes.ts'
import { detailsKey, headerKey, openingKey, hashOf, sessionOf, type ItemKey } from '../../../keys.ts'
import { readListCursor, writeListCursor } from './list-cursor.ts'
import { leadingCondition, listEntries, type LeadingCondition, type ListEntry } from './list-query.ts'
import { openingText } from '../opening-item.ts'
import { detailsOf, titledDetails } from '../session-details.ts'
import { readSessions } from '../session-reader.ts'
import type { SessionRows } from '../session-rows.ts'

/** Sessions per read. */
const BATCH = 50
/**
 * Maximum number of list entries and session rows that are read for one page, in addition to those of the page's
 * sessions.
 */
const MAX_ROWS = 1_000

interface Found {
  readonly session: Session
  readonly entry: ListEntry
}

/**
 * Returns a page of the matching sessions. One condition selects the list, whose entries have the order of the page. If
 * the entries cannot decide the other conditions, rows of their sessions are read. The number of reads per page is
 * limited. A page that reaches the limit is short, and the next page begins after its last entry.
 */
export async function listSessions(rows: SessionRows, filter: SessionFilter): ReturnType<SessionStore['list']> {
  const { limit } = filter
  const leading = leadingCondition(filter)
  const compare = createComparison(rows, filter, leading)
  const pageSize = compare.isNeeded ? BATCH : Math.ceil((limit + 1) / (leading.field === 'owner' ? 1 : 2)) + 1
  const found: Found[] = []
  let batch: ListEntry[] = []
  let [seen, last] = [0, undefined as ListEntry | undefined]
  let isStopped = false
  for await (const entry of listEntries(rows.table, filter, leading, readListCursor(filter), pageSize)) {
    if (mayMatch(entry, filter, leading)) batch.push(entry)
    last = entry
    seen++
    if (batch.length >= (compare.isNeeded ? BATCH : Math.min(limit + 1 - found.length, BATCH))) {
      found.push(...(await compare.matching(batch)))
      batch = []
    }
    isStopped = compare.rows() + seen - found.length - batch.length >= MAX_ROWS
    if (found.length > limit || isStopped) break
  }
  if (found.length <= limit) found.push(...(await compare.matching(batch)))
  const page = found.slice(0, limit)
  const end = found.length > limit ? page.at(-1)?.entry : isStopped ? last : undefined
  return {
    sessions: page.map(({ session }) => session),
    ...(end === undefined ? {} : { next: writeListCursor(filter, end) }),
  }
}

/** List entries per request if the entries alone decide what matches. */
const ENTRIES_PAGE = 250

/** See `SessionStore.findIds`. Reads list entries, and rows of their sessions if the entries cannot decide. */
export async function findIds(
  rows: SessionRows,
  conditions: SessionConditions,
): Promise<readonly string[] | undefined> {
  const filter = { ...conditions, sort: 'created_at', limit: MAX_COMPARED_SESSIONS } as const
  const leading = leadingCondition(filter)
  const compare = createComparison(rows, filter, leading)
  const ids = new Set<string>()
  let batch: ListEntry[] = []
  const compareBatch = async (): Promise<void> => {
    for (const { item } of compare.isNeeded ? await compare.likely(batch) : batch) ids.add(sessionOf(item).session)
    batch = []
  }
  let seen = 0
  const pageSize = compare.isNeeded ? BATCH : ENTRIES_PAGE
  for await (const entry of listEntries(rows.table, filter, leading, undefined, pageSize)) {
    if (seen === MAX_COMPARED_SESSIONS) return undefined
    seen++
    batch.push(entry)
    if (batch.length === BATCH) await compareBatch()
  }
  await compareBatch()
  return [...ids]
}

/** Whether a session can match the filter, judged by its entry alone. */
function mayMatch(
  { item, isHeader }: ListEntry,
  { agent, runStatus }: SessionFilter,
  leading: LeadingCondition,
): boolean {
  if (agent !== undefined && textAt(item, 'agent_print') !== hashOf(agent)) return false
  if (!isHeader || runStatus === undefined || leading.field === 'runStatus') return true
  const isActive = textAt(item, 'active_run') !== undefined
  if (runStatus === 'running' || runStatus === 'paused') return isActive
  if (runStatus === 'queued') return (numberAt(item, 'queued') ?? 0) > 0
  return !isActive || (runStatus !== 'completed' && runStatus !== 'failed')
}

interface Comparison {
  /** Whether rows of the sessions must be read, because the entries alone cannot decide what matches. */
  readonly isNeeded: boolean
  /** Number of rows read so far, except those of matching sessions. */
  rows(): number
  matching(entries: readonly ListEntry[]): Promise<Found[]>
  /**
   * Returns the entries whose sessions match. Reads are eventually consistent, so the result may be wrong for sessions
   * that have just changed.
   */
  likely(entries: readonly ListEntry[]): Promise<readonly ListEntry[]>
}

function createComparison(rows: SessionRows, filter: SessionFilter, leading: LeadingCondition): Comparison {
  const { table } = rows
  const matches = createSessionMatch(filter)
  const { owner, runStatus, metadata = [], q } = filter
  const isStatusOpen = runStatus !== undefined && leading.field !== 'runStatus'
  const open = metadata.filter(({ key, isPrefix }) => isPrefix || key !== leading.field)
  const isNeeded =
    isStatusOpen || open.length > 0 || q !== undefined || (owner !== undefined && leading.field !== 'owner')
  /** Returns the rows to read of one session. */
  const wanted = (key: SessionKey): ItemKey[] => [
    detailsKey(key),
    ...(isStatusOpen ? [headerKey(key)] : []),
    ...(q === undefined ? [] : [openingKey(key)]),
  ]
  const each = wanted({ tenant: '', session: '' }).length
  let read = 0
  /**
   * Compares rows of eventually consistent reads. Afterwards, `matching` reads the matching sessions again with strong reads.
   */
  async function likely(entries: readonly ListEntry[]): Promise<ListEntry[]> {
    const keys = entries.map(({ item }) => sessionOf(item))
    const items = await table.readManyEventually(keys.flatMap(wanted))
    const compared = await Promise.all(
      entries.map(async ({ isOld }, place) => {
        const [key, details, ...others] = [keys[place], ...items.slice(place * each, (place + 1) * each)]
        if (isOld) return true
        if (key === undefined || details === undefined) return false
        const stored = titledDetails(await detailsOf(rows, key, details), details)
        const header = isStatusOpen ? others[0] : undefined
        return matches({ ...stored, ...shownRun(header, filter) }, openingText(others.at(-1)))
      }),
    )
    read += entries.length * each
    return entries.filter((_, place) => compared[place])
  }
  return {
    isNeeded,
    rows: () => read,
    likely,
    async matching(entries) {
      const remaining = isNeeded ? await likely(entries) : entries
      if (remaining.length === 0) return []
      const keys = remaining.map(({ item }) => sessionOf(item))
      const openings = q === undefined ? [] : await table.readMany(keys.map(openingKey))
      const byId = new Map(remaining.map((entry, place) => [keys[place]?.session, { entry, opening: openings[place] }]))
      const sessions = await readSessions(rows, keys)
      const fit = sessions.flatMap(({ session, outline }) => {
        const of = byId.get(session.session)
        if (of === undefined) return []
        return matches(session, openingText(of.opening) ?? outline?.opening?.text) ? [{ session, entry: of.entry }] : []
      })
      // Counts the entries that seemed to match, but whose sessions do not match. The index may be outdated, and
      // sessions of earlier versions were not compared before.
      read += remaining.length - fit.length
      return fit
    },
  }
}

/**
 * Returns a run with the status that lists show. The status is a field of the header. If there is no header, returns
 * the status that the filter requires.
 */
const shownRun = (header: Item | undefined, { runStatus }: SessionFilter): Pick<Session, 'run'> => {
  const status = header === undefined ? runStatus : textAt(header, 'listed')
  return status === undefined ? {} : { run: { id: '', status: status as NonNullable<Session['run']>['status'] } }
}
