/** What every contender stores in a round: an answer that says something and makes two calls, and their results. */
export interface Content {
  readonly said: string
  readonly argumentsText: string
  readonly result: string
  /** Of a run, before its last answer. */
  readonly rounds: number
}

/** Something whose rounds are timed. */
export interface Contender {
  /** Milliseconds of each round of one run. */
  run(): number[] | Promise<number[]>
  /** Milliseconds of the work that one more run has put off until it is asked for, a round; undefined where there is none. */
  later(): Promise<number | undefined>
  close(): void | Promise<void>
}
