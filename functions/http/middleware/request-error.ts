export interface InvalidField {
  /** The path of the field in the request: `body.content[0].data`, `query.limit`, `path.session`. */
  readonly path: string
  readonly message: string
}

/** The content of an error response. */
export interface Problem {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly errors?: readonly InvalidField[] | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** A request that is rejected before it reaches the backend. `code` becomes the last part of the problem's `type`. */
export class RequestError extends Error {
  readonly status: RequestErrorStatus
  readonly code: string
  readonly errors: readonly InvalidField[] | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: RequestErrorStatus,
    code: string,
    detail: string,
    options: { errors?: readonly InvalidField[]; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(detail)
    this.name = 'RequestError'
    this.status = status
    this.code = code
    this.errors = options.errors
    this.headers = options.headers ?? {}
  }
}

export type RequestErrorStatus = 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 416 | 422 | 429 | 502 | 503 | 504
