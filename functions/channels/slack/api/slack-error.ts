/** Slack rejected a call and did nothing. `code` is Slack's error code. */
export class SlackRefusal extends Error {
  override readonly name = 'SlackRefusal'
  readonly code: string

  constructor(method: string, code: string) {
    super(`Slack refused ${method}: ${code}`)
    this.code = code
  }
}

/** The outcome of a call is unknown: Slack did not respond, or reported an internal error. */
export class SlackSilence extends Error {
  override readonly name = 'SlackSilence'

  constructor(method: string, cause: unknown) {
    super(`Slack gave no answer to ${method}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

/** Slack rejects calls of this method for now and did nothing. */
export class SlackBusy extends Error {
  override readonly name = 'SlackBusy'
  readonly milliseconds: number

  constructor(method: string, milliseconds: number) {
    super(`Slack takes ${method} again in ${Math.ceil(milliseconds / 1_000)} s`)
    this.milliseconds = milliseconds
  }
}

/** Another process is posting the same notice. */
export class DuplicateNotice extends Error {
  override readonly name = 'DuplicateNotice'

  constructor() {
    super('another process is about to say the same: Slack asks again')
  }
}

export const isRefusal = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof SlackRefusal && codes.includes(error.code)
