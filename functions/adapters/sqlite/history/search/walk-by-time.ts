import { readAll, snapshot } from '../../database.ts'
import { visible, type Search } from './best.ts'
import { loadDocuments, timeRange } from './rows.ts'
import { quote } from './scope.ts'
import { blockToken, firstOf, innerBlocks, LARGEST_BLOCKS, lastOf, type TimeBlock } from './time-tokens.ts'
import {
  DOCUMENTS_AT_ONCE,
  MAX_SCANNED_DOCUMENTS,
  type Expression,
  type Step,
  type Walk,
  type WalkPlace,
} from './walk.ts'

/** Maximum documents of a block that are read and sorted at once. A block with more documents is divided. */
const MAX_SORTED = 500

/** A matching document. */
interface Timed {
  readonly id: number
  readonly event: number
  readonly time: number
}

type Order = 'newest' | 'oldest'

/**
 * Creates the walk by time. An event is listed at the time of its first matching document, and shows only documents
 * with that time. In newest-first order, these are usually the documents of its result. In oldest-first order, they are
 * usually the documents of its call.
 *
 * The index has blocks of time. Blocks with few matches are sorted, all others are divided. So a common word in a long
 * history costs no more than its first hits.
 */
export function walkByTime(search: Search, order: Order): Walk {
  const { database } = search
  const isNewest = order === 'newest'
  return {
    *steps(expression, from) {
      const seen = new Set<number>()
      let looked = 0
      for (const rows of timedRows(search, expression, order, from)) {
        const groups = snapshot(database, () => groupByTime(search, expression(), rows))
        for (const { id, event, time } of rows) {
          if (seen.has(event)) continue
          const group = firstGroup(groups.get(event) ?? [], order)
          // An event is listed only at the time of its first matching document. At any later time of the walk, the event was
          // listed already.
          const isHere = group?.time === time
          if (isHere) seen.add(event)
          yield isHere ? stepOf(search, group, isNewest) : { documents: [], passed: id, time }
        }
        looked += rows.length
        if (looked >= MAX_SCANNED_DOCUMENTS) return false
      }
      return true
    },
    before(expression, { documents, time }) {
      const ids = documents.map(({ id }) => id)
      const [sign, id] = isNewest ? ['>', Math.max(...ids)] : ['<', Math.min(...ids)]
      const sql = `${SELECT_TIMED} AND (d.time, d.id) ${sign} (?, ?) LIMIT ${DOCUMENTS_AT_ONCE}`
      return readTimed(search, sql, expression, time, id).map((row) => row.id)
    },
  }
}

function stepOf(search: Search, { time, ids }: TimeGroup, isNewest: boolean): Step {
  const loaded = snapshot(search.database, () => loadDocuments(search.database, ids.slice(0, DOCUMENTS_AT_ONCE)))
  return { documents: visible(search, loaded), time, passed: isNewest ? Math.min(...ids) : Math.max(...ids) }
}

/** Matching documents of one event that have the same time. */
interface TimeGroup {
  readonly event: number
  readonly time: number
  readonly ids: readonly number[]
}

const firstGroup = (groups: readonly TimeGroup[], order: Order): TimeGroup | undefined =>
  groups.toSorted((left, right) => (order === 'newest' ? right.time - left.time : left.time - right.time))[0]

/** Returns all matching documents of the rows' events, grouped by event and time. */
function groupByTime(search: Search, expression: string, rows: readonly Timed[]): Map<number, TimeGroup[]> {
  const sql = `SELECT d.message AS event, d.time, json_group_array(d.id) AS ids ${FROM_TIMED}
     AND historyWords.rowid IN (SELECT id FROM historyDocuments WHERE message IN (SELECT value FROM json_each(?)))
     GROUP BY d.message, d.time`
  const events = JSON.stringify([...new Set(rows.map(({ event }) => event))])
  const found = readTimed<Omit<TimeGroup, 'ids'> & { readonly ids: string }>(search, sql, expression, events)
  return Map.groupBy(
    found.map((group) => ({ ...group, ids: JSON.parse(group.ids) as number[] })),
    ({ event }) => event,
  )
}

/** Yields the matching documents, ordered by time, in batches. */
function* timedRows(
  search: Search,
  expression: Expression,
  order: Order,
  from: WalkPlace | undefined,
): Generator<Timed[]> {
  const isAfter = (block: TimeBlock): boolean =>
    from === undefined || (order === 'newest' ? firstOf(block) <= from.time : lastOf(block) >= from.time)
  const inOrder = (blocks: readonly TimeBlock[]): TimeBlock[] =>
    (order === 'newest' ? blocks.toReversed() : [...blocks]).filter(isAfter)
  const waiting = inOrder(LARGEST_BLOCKS)
  for (let block = waiting.shift(); block !== undefined; block = waiting.shift()) {
    const within = (): string => `(${expression()}) AND ${quote(blockToken(block))}`
    const some = snapshot(search.database, () =>
      readTimed<Timed>(search, `${SELECT_TIMED} LIMIT ${MAX_SORTED + 1}`, within()),
    )
    if (some.length <= MAX_SORTED) yield* chunksOf(sorted(some, order, from))
    else if (block.level > 0) waiting.unshift(...inOrder(innerBlocks(block)))
    else yield* sortedByEngine(search, within, order, from)
  }
}

function sorted(rows: readonly Timed[], order: Order, from: WalkPlace | undefined): Timed[] {
  const sign = order === 'newest' ? -1 : 1
  const compare = (left: Omit<Timed, 'event'>, right: Omit<Timed, 'event'>): number =>
    sign * (left.time - right.time || left.id - right.id)
  const rest = from === undefined ? rows : rows.filter((row) => compare(row, { id: from.passed, time: from.time }) > 0)
  return rest.toSorted(compare)
}

/** Yields the documents of one hour that has very many matches. SQLite sorts them. */
function* sortedByEngine(
  search: Search,
  expression: Expression,
  order: Order,
  from: WalkPlace | undefined,
): Generator<Timed[]> {
  const [sign, direction] = order === 'newest' ? ['<', 'DESC'] : ['>', 'ASC']
  const [start, end] = order === 'newest' ? [Number.MAX_SAFE_INTEGER, -1] : [Number.MIN_SAFE_INTEGER, -1]
  const sql = `${SELECT_TIMED} AND (d.time, d.id) ${sign} (?, ?)
    ORDER BY d.time ${direction}, d.id ${direction} LIMIT ${DOCUMENTS_AT_ONCE}`
  for (let [time, id] = [from?.time ?? start, from?.passed ?? end]; ;) {
    const rows = snapshot(search.database, () => readTimed<Timed>(search, sql, expression(), time, id))
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    if (rows.length < DOCUMENTS_AT_ONCE) return
    ;[time, id] = [last.time, last.id]
  }
}

function* chunksOf(rows: readonly Timed[]): Generator<Timed[]> {
  for (let start = 0; start < rows.length; start += DOCUMENTS_AT_ONCE)
    yield rows.slice(start, start + DOCUMENTS_AT_ONCE)
}

const FROM_TIMED = `FROM historyWords CROSS JOIN historyDocuments d ON d.id = historyWords.rowid
  WHERE historyWords MATCH ? AND historyWords.rowid BETWEEN ? AND ? AND d.time BETWEEN ? AND ?`
const SELECT_TIMED = `SELECT d.id, d.message AS event, d.time ${FROM_TIMED}`

const readTimed = <Row = Timed>(
  { database, audience, query }: Search,
  sql: string,
  expression: string,
  ...more: (string | number)[]
): Row[] => {
  const { first, last } = audience.range
  return readAll<Row>(database, sql, expression, first, last, ...timeRange(query.filters), ...more)
}
