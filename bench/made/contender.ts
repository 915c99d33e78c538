/** Content that every contender stores in a round: a completion with text and two calls, and their results. */
export interface Content {
  readonly said: string
  readonly argumentsText: string
  readonly result: string
  /** Number of rounds of a run before its final completion. */
  readonly rounds: number
}

/** An implementation whose rounds are timed. */
export interface Contender {
  /** Executes one run. Returns the milliseconds of each round. */
  run(): number[] | Promise<number[]>
  /**
   * Executes the work that runs have deferred. Returns its duration in milliseconds per round, or undefined if no work
   * was deferred.
   */
  later(): Promise<number | undefined>
  close(): void | Promise<void>
}
