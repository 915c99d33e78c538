/**
 * The response, whose body calls `sent` after its last byte was read, and before it ends. A client that has left, as `gone` says, or
 * that leaves the body has not got it.
 */
export function whenSent(response: Response, gone: AbortSignal, sent: () => Promise<void>): Response {
  if (response.body === null) return response
  const last = new TransformStream<Uint8Array, Uint8Array>({
    flush: async () => {
      if (!gone.aborted) await sent()
    },
  })
  return new Response(response.body.pipeThrough(last), response)
}
