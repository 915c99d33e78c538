import { eventually } from '../../eventually.ts'

/** A backend for programs, with its properties that tests need. */
export interface Backend {
  readonly name: string
  /** How many times longer things take than on SQLite. */
  readonly slower: number
  /**
   * Whether a stored message is found as soon as it is acknowledged, and a deleted one no longer. On other backends,
   * this takes a moment.
   */
  readonly findsAtOnce: boolean
  /** A new place for the programs of one test, apart from all others. */
  open(): Promise<Place>
}

/** Where the programs of one test keep everything. */
export interface Place {
  /** Settings of a program on this backend. */
  readonly env: Readonly<Record<string, string>>
  /** Every stored row, and every document of the index, as text. */
  texts(): AsyncIterable<string>
  /** The names of all stored outputs. */
  objects(): Promise<readonly string[]>
  /** A print of every stored row and output: it stays the same as long as nothing is stored. */
  fingerprint(): Promise<string>
  remove(): Promise<void>
}

/** Returns what `check` returns once the search of the backend knows of everything stored so far. */
export const onceFound = <Value>({ findsAtOnce }: Backend, check: () => Promise<Value>): Promise<Value> =>
  findsAtOnce ? check() : eventually(check, 250)
