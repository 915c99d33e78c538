import { reading, snapshot, type Database } from '../../database.ts'
import { visible, type Search } from './best.ts'
import { firstDocument, loadDocuments, matchRows, type FoundDocument } from './rows.ts'

/** Documents that are read at a time. */
export const DOCUMENTS_AT_ONCE = 150
/** Maximum documents that are read for one page. */
export const MAX_SCANNED_DOCUMENTS = 2_000

/** A position in a walk, directly after an event. */
export interface WalkPlace {
  /** The event's last document in the order of the walk. */
  readonly passed: number
  /** The time of that document. */
  readonly time: number
}

/** An event of a walk, with its matching documents. */
export interface Step extends WalkPlace {
  readonly documents: readonly FoundDocument[]
}

/** Returns the current match expression of a walk. The expression may change while the walk runs. */
export type Expression = () => string

/** Visits each matching event once. */
export interface Walk {
  /** Yields all events, or those after a position. Returns whether the walk reached its end. */
  steps(expression: Expression, from: WalkPlace | undefined): Generator<Step, boolean>
  /** Returns documents that match the expression and that the walk visits before this step, up to a maximum number. */
  before(expression: string, step: Step): number[]
}

/**
 * Creates the walk by the age of rows, newest first. The documents of an event are contiguous, because they are written
 * together.
 */
export function walkByRow(search: Search): Walk {
  const { database, query, audience } = search
  const { filters } = query
  return {
    *steps(expression, from) {
      let last = from === undefined ? audience.range.last : from.passed - 1
      for (let looked = 0; looked < MAX_SCANNED_DOCUMENTS; looked += DOCUMENTS_AT_ONCE) {
        const { rows, loaded } = snapshot(database, () => {
          const range = { ...audience.range, last }
          const matched = matchRows(database, range, expression(), { filters, limit: DOCUMENTS_AT_ONCE })
          return { rows: matched, loaded: loadDocuments(database, matched) }
        })
        for (const documents of Map.groupBy(visible(search, loaded), ({ event }) => event).values()) {
          const passed = beginningOf(database, documents)
          yield { documents, passed, time: 0 }
          last = passed - 1
        }
        if (rows.length < DOCUMENTS_AT_ONCE) return true
        last = Math.min(last, (rows.at(-1) ?? last) - 1)
      }
      return false
    },
    before(expression, { documents }) {
      const first = Math.max(...documents.map(({ id }) => id)) + 1
      return matchRows(database, { ...audience.range, first }, expression, { filters, limit: DOCUMENTS_AT_ONCE })
    },
  }
}

/**
 * Returns the lowest id of the documents of an event. `documents` are some of them, which may have been removed since
 * they were read.
 */
function beginningOf(database: Database, documents: readonly FoundDocument[]): number {
  const first = reading(database, () => documents[0] && firstDocument(database, documents[0].event))
  return Math.min(first ?? Infinity, ...documents.map(({ id }) => id))
}
