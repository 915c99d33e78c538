/** Content that every contender stores in a round: a completion with text and two calls, and their results. */
export interface Content {
  readonly said: string
  readonly argumentsText: string
  readonly result: string
  /** Rounds of a run before its last completion. */
  readonly rounds: number
}

/** An implementation whose rounds are timed. */
export interface Contender {
  /** Executes one run. Returns the milliseconds of each round. */
  run(): number[] | Promise<number[]>
  /** Executes the work that runs have deferred. Returns its milliseconds per round, or undefined if there is none. */
  later(): Promise<number | undefined>
  close(): void | Promise<void>
}
