/** The response to a request that an endpoint rejects. */
export interface Refusal {
  readonly status: 400 | 401 | 404 | 405 | 413 | 415 | 422 | 429 | 503
  readonly code: string
  /** The reason, for the sender. Must never contain a valid signature or secret. */
  readonly detail: string
  /** The wrong fields. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
}

/**
 * A path that authenticates its own requests, for example by signatures. It needs no API key, and any host and page may
 * call it. The endpoint itself limits the bytes that it reads. It rejects only with `TooltrailError`s.
 */
export interface InboundEndpoint {
  /** The path as in a route, such as `/webhooks/*`. Only POST requests are passed on. */
  readonly path: string
  open(request: Request): Promise<Response | Refusal>
}
