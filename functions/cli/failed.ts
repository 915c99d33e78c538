export const NEEDS_ATTENTION = 2
export const NEEDS_A_PERSON = 3
export const INTERRUPTED = 130

/** A command could not do what was asked. The message is the one line that is shown; `exitCode` is the process's. */
export class Failed extends Error {
  override readonly name = 'Failed'
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}
