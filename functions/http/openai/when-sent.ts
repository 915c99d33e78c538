/**
 * Returns the response with a body that calls `sent` after the body's last byte was read. The body ends when `sent` has
 * resolved. `sent` is not called if `gone` has aborted, or if the client stops reading.
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
