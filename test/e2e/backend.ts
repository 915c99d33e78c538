/** What programs can stand on, and what a test has to know of it. */
export interface Backend {
  readonly name: string
  /** How many times longer things take than on SQLite. */
  readonly slower: number
  /** Milliseconds after which what is stored is found, and what is deleted is not; 0: at once. */
  readonly searchLagMs: number
  /** A new place for the programs of one test, apart from all others. */
  open(): Promise<Place>
}

/** Where the programs of one test keep everything. */
export interface Place {
  /** The settings of a program that stands there. */
  readonly env: Readonly<Record<string, string>>
  /** The names of all stored outputs. */
  objects(): Promise<readonly string[]>
  /** A print of every stored row and output: it stays the same as long as nothing is stored. */
  print(): Promise<string>
  remove(): Promise<void>
}
