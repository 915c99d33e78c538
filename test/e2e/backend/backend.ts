import { eventually } from '../../eventually.ts'

/** A backend for programs, with the properties that tests need. */
export interface Backend {
  readonly name: string
  /** Factor by which operations take longer than on SQLite. */
  readonly slower: number
  /**
   * Whether search finds a message as soon as its write is acknowledged, and no longer finds a deleted message. On
   * other backends, search reflects each write a moment later.
   */
  readonly findsAtOnce: boolean
  /** Creates a separate place for the programs of one test. */
  open(): Promise<Place>
}

/** The place where the programs of one test store everything. */
export interface Place {
  /** Settings of a program on this backend. */
  readonly env: Readonly<Record<string, string>>
  /** Every stored row, and every document of the index, as text. */
  texts(): AsyncIterable<string>
  /** The names of all stored outputs. */
  objects(): Promise<readonly string[]>
  /** A hash of every stored row and output. It changes only if something is stored. */
  fingerprint(): Promise<string>
  remove(): Promise<void>
}

/**
 * Calls `check` and returns its result. If the backend's search lags behind its store, repeats `check` until it does not throw.
 */
export const onceFound = <Value>({ findsAtOnce }: Backend, check: () => Promise<Value>): Promise<Value> =>
  findsAtOnce ? check() : eventually(check, 250)
