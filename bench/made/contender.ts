/** Content that every contender stores in a round: a completion with text and two calls, and their results. */
export interface Content {
  readonly said: string
  readonly argumentsText: string
  readonly result: string
  /** Rounds of a run before its last completion. */
  readonly rounds: number
}

/** Something whose rounds are timed. */
export interface Contender {
  /** Milliseconds of each round of one run. */
  run(): number[] | Promise<number[]>
  /** Milliseconds a round of the work that a run puts off until later; undefined if there is none. */
  later(): Promise<number | undefined>
  close(): void | Promise<void>
}
