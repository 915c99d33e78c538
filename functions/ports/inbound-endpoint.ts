/** The response to a request that an endpoint refuses. */
export interface Refusal {
  readonly status: 400 | 401 | 404 | 405 | 413 | 415 | 422 | 429 | 503
  readonly code: string
  /** The reason, for the sender. Must never contain a valid signature or secret. */
  readonly detail: string
  /** The invalid fields of the request. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
}

/**
 * A path whose requests are authenticated by the endpoint itself, for example by signatures. Requests need no API key, and may
 * come from any host and any page. The endpoint limits the bytes that it reads. It rejects only with `TooltrailError`s.
 */
export interface InboundEndpoint {
  /** The path in the form of a route, such as `/webhooks/*`. The endpoint gets only POST requests. */
  readonly path: string
  open(request: Request): Promise<Response | Refusal>
}
