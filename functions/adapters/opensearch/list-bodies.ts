import { definedFields } from '../../domain/defined-fields.ts'
import { MAX_MORE, type HistorySort } from '../../domain/history.ts'
import type { ListPlace } from './history-cursor.ts'
import { scopeClause, type Scoped } from './search-bodies.ts'
import { anyOf } from './term-groups.ts'

/** A list of matching events whose order does not depend on scores. */
export interface EventList extends Scoped {
  readonly must: readonly object[]
  readonly mustNot: readonly object[]
  /** The order. Here, `relevance` means the age of the messages, newest first. */
  readonly sort: HistorySort
  /** The content of one hit: an event, or the events of a session. */
  readonly unit: 'event' | 'session'
}

interface Part {
  readonly after: ListPlace | undefined
  /** Units (events or sessions) to omit. */
  readonly without: readonly string[]
  readonly size: number
}

/** Builds the request for the first documents of the next units of a list. */
export const unitsBody = (list: EventList, { after, without, size }: Part): object => ({
  size,
  track_total_hits: false,
  sort: [...orderOf(list), { _score: 'desc' }],
  collapse: { field: list.unit },
  query: queryOf(list, after === undefined ? [] : [afterPlace(list, after)], without),
})

/**
 * Builds the request for the next documents of a list. Several documents may belong to one unit. `from`: the sort
 * values of the previous document.
 */
export const documentsBody = (
  list: EventList,
  { after, without, size, from }: Part & { readonly from: readonly unknown[] | undefined },
): object => ({
  size,
  track_total_hits: false,
  sort: [...orderOf(list), { part: 'asc' }],
  ...definedFields({ search_after: from }),
  query: queryOf(list, after === undefined ? [] : [afterPlace(list, after)], without),
})

/**
 * Builds the request for documents of these units, up to a position in the list. `isCollapsed`: one document per unit.
 */
export const earlierBody = (
  list: EventList,
  {
    units,
    place,
    size,
    isCollapsed,
  }: {
    readonly units: readonly string[]
    readonly place: ListPlace
    readonly size: number
    readonly isCollapsed: boolean
  },
): object => ({
  size,
  track_total_hits: false,
  sort: orderOf(list),
  ...(isCollapsed ? { collapse: { field: list.unit }, _source: [list.unit] } : {}),
  query: queryOf(list, [{ terms: { [list.unit]: units } }, upToPlace(list, place)], []),
})

/**
 * Builds the request that counts the events of each of these sessions. It counts at most one more than the maximum that
 * is shown.
 */
export const eventsBody = (list: EventList, sessions: readonly string[]): object => ({
  size: 0,
  track_total_hits: false,
  query: queryOf(list, [{ terms: { session: sessions } }], []),
  aggs: {
    sessions: {
      filters: { filters: sessions.map((session) => ({ term: { session } })) },
      // A session may have many events. A map of the matching events is cheaper than global ordinals.
      aggs: { events: { terms: { field: 'event', size: MAX_MORE + 1, execution_hint: 'map' } } },
    },
  },
})

const queryOf = (
  { must, mustNot, unit, ...scoped }: EventList,
  filters: readonly object[],
  without: readonly string[],
): object => ({
  bool: {
    filter: [scopeClause(scoped), ...filters],
    must,
    must_not: [...mustNot, ...(without.length === 0 ? [] : [{ terms: { [unit]: without } }])],
  },
})

const orderOf = ({ sort }: EventList): object[] => {
  if (sort === 'relevance') return [{ event: 'desc' }]
  const direction = sort === 'newest' ? 'desc' : 'asc'
  return [{ time: direction }, { event: direction }]
}

/** Suffix for a message's id. The result sorts after every event key that begins with this id. */
const AND_AFTER = '~'

const afterPlace = ({ sort }: EventList, { message, time }: ListPlace): object => {
  if (sort === 'relevance') return { range: { event: { lt: message } } }
  const [later, further] =
    sort === 'newest' ? [{ lt: time }, { lt: message }] : [{ gt: time }, { gt: `${message}${AND_AFTER}` }]
  return anyOf([{ range: { time: later } }, { bool: { filter: [{ term: { time } }, { range: { event: further } }] } }])
}

const upToPlace = (list: EventList, place: ListPlace): object => ({ bool: { must_not: [afterPlace(list, place)] } })
