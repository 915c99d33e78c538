import type { PlannedTerm } from '../query/plan.ts'
import type { SearchQuery } from '../query/query.ts'
import { FUNCTION_WORDS } from '../query/words.ts'
import type { Candidate } from './rows.ts'

/** Consecutive events of a session, in the order of the log. Each event has some of its documents. */
export type Window<Found> = readonly (readonly Found[])[]

/** Maximum number of events in a window before its hit, and maximum number after its hit. */
export const WINDOW_EVENTS = 2
/** Maximum number of documents in a window for each event. The window has the event's first documents. */
export const WINDOW_DOCUMENTS = 2
/** Number of best events whose neighbours are read. */
export const EVENTS_WITH_CONTEXT = 20

/** Weights of a term in a neighbour, by the neighbour's distance. */
const WEIGHTS: ReadonlyMap<number, number> = new Map([
  [-1, 0.5],
  [-2, 0.3],
  [1, 0.3],
])
/** Distances at which a neighbour of a good hit becomes a candidate. */
const CANDIDATES = [-1, 1, 2]

type EventId = Candidate['event']

/** For each event: the weights of its neighbours, by neighbour. */
type Neighbours = ReadonlyMap<EventId, ReadonlyMap<EventId, number>>

/** Finds the neighbours of all events in these windows. */
export function neighboursIn<Found extends Candidate>(windows: readonly Window<Found>[]): Neighbours {
  const found = new Map<EventId, Map<EventId, number>>()
  for (const window of windows) {
    const events = window.flatMap(([document]) => document?.event ?? [])
    for (const [place, event] of events.entries())
      for (const [step, weight] of WEIGHTS) {
        const other = events[place + step]
        if (other === undefined) continue
        const known = found.get(event) ?? new Map<EventId, number>()
        found.set(event, known.set(other, weight))
      }
  }
  return found
}

/** Returns the documents of events that become candidates because they are near these hits. */
export function nearCandidates<Found extends Candidate>(
  windows: readonly Window<Found>[],
  hits: readonly { readonly best: Found }[],
): Found[] {
  const places = new Set(hits.map(({ best }) => best.event))
  return windows.flatMap((window) => {
    const place = window.findIndex(([document]) => document !== undefined && places.has(document.event))
    return CANDIDATES.flatMap((step) => window[place + step] ?? [])
  })
}

/** The quality of each term in a document beside a hit. */
export interface NearText<Found> {
  readonly found: Found
  readonly qualities: readonly number[]
}

/**
 * Returns the quality of each term in an event's neighbours. `texts` has the documents of each neighbour, except
 * self-references. So an earlier search never raises the rank of the entries beside it.
 */
export function contextOf<Found extends Candidate>(
  terms: readonly PlannedTerm[],
  near: ReadonlyMap<EventId, number> | undefined,
  texts: ReadonlyMap<EventId, readonly NearText<Found>[]>,
): number[] | undefined {
  if (near === undefined) return undefined
  const weighted = [...near].flatMap(([event, weight]) => (texts.get(event) ?? []).map((text) => ({ weight, text })))
  return terms.map((_, index) =>
    weighted.reduce((most, { weight, text }) => Math.max(most, weight * (text.qualities[index] ?? 0)), 0),
  )
}

/**
 * Whether the entries beside a hit may complete the query. The query must have several plain words with content. An
 * identifier or a single word is only searched in the entries themselves.
 */
export const usesContext = ({ terms }: SearchQuery): boolean =>
  terms.filter(({ text, wholes, date }) => wholes.length === 0 && date === undefined && !FUNCTION_WORDS.has(text))
    .length > 1

/**
 * Share of a query's terms. If the best entry contains at least this share, and the query has no function words,
 * neighbours are not read.
 */
export const COMPLETE = 0.95
