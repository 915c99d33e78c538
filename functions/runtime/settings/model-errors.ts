import type { JsonObject } from '../../domain/json.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { ModelError } from '../../ports/model.ts'
import type { Model, ModelEvent, Models, ModelUse } from '../../ports/model.ts'
import type { Logger } from '../../ports/logger.ts'
import type { ModelRequest } from '../../domain/model-request.ts'

/**
 * Messages that callers get instead of a provider's error. The text of a provider's error may contain internal
 * addresses and keys.
 */
const SHOWN: { readonly [code in ModelError['code']]: string } = {
  timeout: 'the model did not respond in time',
  network: 'the model could not be reached, or what it sent was no whole response',
  rate_limited: 'the model accepts no more requests for now',
  refused: 'the model refused this request',
  context_length: 'the conversation is too long for the model',
  authentication: 'the model does not accept the credentials of this server',
  invalid_request: 'the model does not accept the request',
  provider_error: 'the model failed',
}
const BROKE_OFF = "the model's response broke off"

/**
 * Wraps models so that callers see only the kind of a provider's error. The log has the whole error for operators. An
 * error of our own is passed on unchanged if no provider's error caused it.
 */
export function showErrorsByKind(models: Models, logger: Logger): Models {
  return {
    async open(name, use) {
      const about = { model: name, ...use }
      const model = await byKind(logger, about, () => models.open(name, use))
      const named = { ...about, model: model.name }
      return { ...model, stream: (request, signal) => stream(model, { logger, about: named }, request, signal) }
    },
  }
}

/** Fields of the log line in addition to the error. */
type About = Partial<ModelUse> & { readonly model: string }

async function* stream(
  model: Model,
  { logger, about }: { readonly logger: Logger; readonly about: About },
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const events = model.stream(request, signal)[Symbol.asyncIterator]()
  let hasBegun = false
  try {
    for (;;) {
      const next = await byKind(logger, about, () => events.next(), hasBegun)
      if (next.done === true) return
      hasBegun = true
      yield next.value
    }
  } finally {
    await events.return?.()
  }
}

/** Replaces a provider's error. `hasBegun`: a part of the model's response has arrived. */
async function byKind<Result>(
  logger: Logger,
  about: About,
  work: () => Promise<Result>,
  hasBegun = false,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ModelError) || error.cause === undefined) throw error
    logger.error('the model failed', error, { ...about, code: error.code, said: saidBy(error.cause) })
    const { retryable, retryAfterMs, usage, status, size, messageIndex } = error
    const options = { retryable, cause: error, ...definedFields({ retryAfterMs, usage, status, size, messageIndex }) }
    throw new ModelError(error.code, shownOf(error.code, statusOf(error.cause), hasBegun), options)
  }
}

/** Returns the message for callers. It omits the provider's text, which is in the log for operators. */
function shownOf(code: ModelError['code'], status: number | undefined, hasBegun: boolean): string {
  const isSuccess = status !== undefined && status < 300
  if (code === 'network' && (hasBegun || isSuccess)) return `${BROKE_OFF}: see the server's log`
  return `${SHOWN[code]}${status === undefined ? '' : ` (HTTP status ${status})`}: see the server's log`
}

function statusOf(cause: unknown): number | undefined {
  const status = typeof cause === 'object' && cause !== null && 'statusCode' in cause ? cause.statusCode : undefined
  return typeof status === 'number' ? status : undefined
}

/** Returns the provider's response, if the cause has one. */
function saidBy(cause: unknown): JsonObject {
  if (!(cause instanceof Error)) return { message: JSON.stringify(cause) ?? String(cause) }
  const { responseBody, statusCode, url } = cause as { responseBody?: string; statusCode?: number; url?: string }
  return { message: cause.message, status: statusCode, url, body: responseBody }
}
