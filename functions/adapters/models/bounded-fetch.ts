import { APICallError } from '@ai-sdk/provider'
import { ModelError } from '../../ports/model.ts'
import type { FetchFunction } from './model-settings.ts'

const MIB = 1024 * 1024
/** Maximum bytes of a streamed response; 128,000 output tokens have about 45 MB of events. */
const MAX_RESPONSE_BYTES = 128 * MIB
/** Maximum bytes of an error response. It is low, because the provider packages read an error response completely. */
const MAX_ERROR_BYTES = MIB
/**
 * Maximum bytes of one message in Bedrock's binary stream. It is low, because Bedrock's package copies the incomplete
 * message with each chunk.
 */
const MAX_FRAME_BYTES = 4 * MIB
const LENGTH_BYTES = 4

/**
 * Wraps a `fetch` that sends an operator's key to a model's server. The returned function follows no redirect, because
 * the key would be sent along. If a body exceeds its limit, the response fails. Both failures are `ModelError`s that
 * are not retryable.
 */
export function boundFetch(fetch: FetchFunction): FetchFunction {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' })
    const { status, statusText, headers, body } = response
    if (status >= 300 && status < 400 && status !== 304) {
      await body?.cancel()
      throw redirectError(addressOf(input), status, headers.get('location'))
    }
    if (body === null) return response
    const bounded = body.pipeThrough(limitBytes(response.ok ? MAX_RESPONSE_BYTES : MAX_ERROR_BYTES))
    const isBinary =
      response.ok && headers.get('content-type')?.startsWith('application/vnd.amazon.eventstream') === true
    return new Response(isBinary ? bounded.pipeThrough(limitFrames()) : bounded, { status, statusText, headers })
  }
}

const addressOf = (input: Parameters<FetchFunction>[0]): string =>
  input instanceof Request ? input.url : String(input)

/**
 * Creates an error that names the origin of the redirect, for the operator's log. Paths and queries are omitted because
 * they may contain keys.
 */
function redirectError(address: string, status: number, location: string | null): ModelError {
  const target = location === null ? undefined : URL.parse(location, address)?.origin
  const where = target === undefined ? 'elsewhere' : `to ${target}`
  const message = `the model's server redirects ${where}: requests with a key follow no redirect; set its base URL to that address`
  const cause = new APICallError({ message, url: address, requestBodyValues: {}, statusCode: status })
  return new ModelError('invalid_request', message, { retryable: false, cause })
}

type Bytes = Uint8Array<ArrayBuffer>

function limitBytes(maxBytes: number): TransformStream<Bytes, Bytes> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      if (bytes <= maxBytes) controller.enqueue(chunk)
      else controller.error(tooLarge(maxBytes))
    },
  })
}

/** Limits the length of each message. A message begins with its length: 32 bits, most significant byte first. */
function limitFrames(): TransformStream<Bytes, Bytes> {
  let lengthBytes = 0
  let frameBytes = 0
  let leftBytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      for (let at = 0; at < chunk.byteLength;) {
        if (leftBytes > 0) {
          const taken = Math.min(leftBytes, chunk.byteLength - at)
          leftBytes -= taken
          at += taken
          continue
        }
        frameBytes = frameBytes * 256 + (chunk[at++] ?? 0)
        if (++lengthBytes < LENGTH_BYTES) continue
        if (frameBytes > MAX_FRAME_BYTES) return controller.error(tooLarge(MAX_FRAME_BYTES))
        leftBytes = Math.max(0, frameBytes - LENGTH_BYTES)
        lengthBytes = 0
        frameBytes = 0
      }
      controller.enqueue(chunk)
    },
  })
}

const tooLarge = (maxBytes: number): ModelError =>
  new ModelError(
    'provider_error',
    `the model's response, or a message of it, exceeds the limit of ${maxBytes / MIB} MiB`,
    {
      retryable: false,
    },
  )
