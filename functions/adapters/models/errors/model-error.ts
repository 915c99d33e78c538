import { APICallError, LoadAPIKeyError, LoadSettingError, UnsupportedFunctionalityError } from '@ai-sdk/provider'
import { definedFields } from '../../../domain/defined-fields.ts'
import { ModelError } from '../../../ports/model.ts'
import type { RefusedSize } from '../../../ports/model.ts'
import { ownWords } from './own-words.ts'
import { refusedSizeIn, saysTooLong } from './too-long.ts'

/**
 * Matches the error of Bedrock's package for missing credentials or an expired login. In both cases, no request was
 * sent.
 */
const NO_CREDENTIALS = /^AWS credential provider failed/
/** Matches the error of an exhausted quota, for which a retry is useless. */
const USED_UP = /insufficient_quota|billing|credit balance/i

/** Matches the error of Anthropic's package for a stream whose first frame it does not know. */
const UNKNOWN_FIRST_FRAME = /^Expected a normalized Anthropic stream error/

/** Creates the error for a stream in which all frames have an unknown format. */
export const notUnderstood = (frames: number): ModelError =>
  new ModelError(
    'provider_error',
    `the model sent ${frames} ${frames === 1 ? 'frame' : 'frames'} in an unknown format, and nothing else`,
    { retryable: true, unknownFrames: frames },
  )

/** Converts an error of the provider or the network to a `ModelError`. */
export function toModelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error
  const message = messageOf(error)
  if (LoadAPIKeyError.isInstance(error) || LoadSettingError.isInstance(error)) {
    return new ModelError('authentication', message, { retryable: false, cause: error })
  }
  if (UnsupportedFunctionalityError.isInstance(error)) {
    return new ModelError('invalid_request', message, { retryable: false, cause: error })
  }
  const status = statusOf(error)
  return status === undefined ? withoutStatus(error, message) : byStatus(error, status, message)
}

function byStatus(error: unknown, status: number, message: string): ModelError {
  const text = `${message} ${ownWords(APICallError.isInstance(error) ? error.responseBody : error)}`
  const detail = message === '' ? `the provider responded with status ${status}` : message
  const retryAfterMs = retryAfter(error)
  const make = (code: ModelError['code'], retryable: boolean, size?: RefusedSize): ModelError =>
    new ModelError(code, detail, { retryable, status, cause: error, ...definedFields({ retryAfterMs, size }) })
  if (status === 429) return make('rate_limited', !USED_UP.test(text))
  if (status === 401 || status === 403) return make('authentication', false)
  if (status === 408 || status === 504) return make('timeout', true)
  // Status 500 is included, because some versions of llama.cpp use it for a request that is too long.
  if (status <= 500 && saysTooLong(text)) return make('context_length', false, refusedSizeIn(text))
  if (status === 413) return make('context_length', false)
  if (status >= 500 || status === 409 || status === 424 || status === 425) return make('provider_error', true)
  if (status >= 400) return make('invalid_request', false)
  return make('network', true)
}

/** Converts an error without a status: the connection failed, or the response was invalid. */
function withoutStatus(error: unknown, message: string): ModelError {
  if (UNKNOWN_FIRST_FRAME.test(message)) return notUnderstood(1)
  const text = `${message} ${ownWords(error)}`
  if (saysTooLong(text)) {
    const size = refusedSizeIn(text)
    return new ModelError('context_length', message, { retryable: false, cause: error, size })
  }
  if (NO_CREDENTIALS.test(message)) return new ModelError('authentication', message, { retryable: false, cause: error })
  const sent = error instanceof Error ? undefined : error
  if (sent === undefined) return new ModelError('network', message, { retryable: true, cause: error })
  return new ModelError('provider_error', message, { retryable: !USED_UP.test(JSON.stringify(sent)), cause: error })
}

/** Returns the HTTP status of the response, or the status of an error sent within a stream. */
function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { statusCode, status, code, type } = error as {
    statusCode?: unknown
    status?: unknown
    code?: unknown
    type?: unknown
  }
  for (const value of [statusCode, status, code]) {
    const number = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value
    if (typeof number === 'number' && number >= 100 && number < 600) return number
  }
  if (error instanceof Error) return undefined
  const codes = [code, type].filter((word) => typeof word === 'string').join(' ')
  if (/rate_limit|insufficient_quota|throttl/i.test(codes)) return 429
  if (/authentication|permission/i.test(codes)) return 401
  if (/invalid|context_length/i.test(codes)) return 400
  return /overload|server_error|api_error|unavailable/i.test(codes) ? 503 : undefined
}

/** Returns the wait that the provider requests, in milliseconds. An empty or invalid header counts as absent. */
function retryAfter(error: unknown): number | undefined {
  const headers = APICallError.isInstance(error) ? error.responseHeaders : undefined
  return durationIn(headers?.['retry-after-ms'], 1) ?? durationIn(headers?.['retry-after'], 1_000)
}

/**
 * Parses a duration, as a number of units of `unitMs`, or a date (RFC 9110, 10.2.3). Fractions are accepted because
 * providers send them.
 */
function durationIn(value: string | undefined, unitMs: number): number | undefined {
  const text = value?.trim() ?? ''
  if (/^\d{1,15}(?:\.\d*)?$/.test(text)) return Number(text) * unitMs
  const at = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now())
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined
  return typeof message === 'string' ? message : (JSON.stringify(error) ?? String(error))
}
