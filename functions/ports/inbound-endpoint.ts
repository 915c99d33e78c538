/** A request that a door refuses. */
export interface Refusal {
  readonly status: 400 | 401 | 404 | 405 | 413 | 415 | 422 | 429 | 503
  readonly code: string
  /** What is wrong, for who sent it. Never what a right signature or secret would be. */
  readonly detail: string
  /** Where it is wrong. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
}

/**
 * An address with a guard of its own, such as signatures: it needs no API key, and may be called from any host and page. The
 * door itself bounds what it reads of a request. It rejects only with `TooltrailError`s.
 */
export interface InboundEndpoint {
  /** As a route has it: `/webhooks/*`. Only POST comes here. */
  readonly path: string
  open(request: Request): Promise<Response | Refusal>
}
