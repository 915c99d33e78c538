/** Slack understood a call and refused it: nothing was done. `code` is Slack's own word. */
export class SlackRefusal extends Error {
  override readonly name = 'SlackRefusal'
  readonly code: string

  constructor(method: string, code: string) {
    super(`Slack refused ${method}: ${code}`)
    this.code = code
  }
}

/** Nobody knows whether Slack did what a call asked for: it answered nothing, or that something went wrong on its side. */
export class SlackSilence extends Error {
  override readonly name = 'SlackSilence'

  constructor(method: string, cause: unknown) {
    super(`Slack gave no answer to ${method}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

/** Slack takes no call of this method for now: nothing was done. */
export class SlackBusy extends Error {
  override readonly name = 'SlackBusy'
  readonly milliseconds: number

  constructor(method: string, milliseconds: number) {
    super(`Slack takes ${method} again in ${Math.ceil(milliseconds / 1_000)} s`)
    this.milliseconds = milliseconds
  }
}

/** Another process is about to say the same in the same thread. */
export class BeingSaid extends Error {
  override readonly name = 'BeingSaid'

  constructor() {
    super('another process is about to say the same: Slack asks again')
  }
}

export const isRefusal = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof SlackRefusal && codes.includes(error.code)
