import type { Days } from './calendar.ts'

/** A date in a text: a day, or a month if `day` is undefined. `year` is undefined if the text names no year. */
export interface WrittenDate {
  readonly year: number | undefined
  readonly month: number
  readonly day: number | undefined
}

/** A way to write a date, and the weight of its matches. */
export interface SpelledDate {
  readonly text: string
  readonly weight: number
}

/** The ways in which texts write a date. */
export interface DateSpellings {
  /** Texts that are searched in a document, best first. */
  readonly texts: readonly SpelledDate[]
  /** Alternative groups of tokens, as in `PlannedTerm`. */
  readonly groups: readonly (readonly (readonly string[])[])[]
}

/** A date in a query. Its position is in UTF-16 units. */
export interface DateMention {
  readonly start: number
  readonly end: number
  readonly days: Days
  /** The date that texts may write in other ways. Absent for a relative date. */
  readonly written?: WrittenDate
}
