import type { Context } from 'hono'
import { keyRevoked } from '../../middleware/authentication.ts'
import { describeError } from '../../middleware/error-response.ts'
import { openAiErrorOf } from '../../middleware/openai-error.ts'
import type { AppEnv, RouteDependencies } from '../../dependencies.ts'
import { BrokenOff, MAX_RUN_WAIT_MS } from '../chat/serve-chat.ts'
import { rememberShown } from '../sessions/session-by-history.ts'
import type { NewResponse } from './accept-response.ts'
import { messagesOfOutput } from './request/response-input.ts'
import { lastEventType, responseResource } from './response-resource.ts'
import type { ShownResponse } from './response-resource.ts'
import { responseEvents } from './response-run.ts'
import type { ResponseState } from './response-run.ts'
import type { ResponseResource } from './response-schemas.ts'
import type { ResponseEvent } from './response-writer.ts'
import { jsonText } from '../../../log/json/well-formed.ts'

/** The Response in its current state. */
export async function standing(dependencies: RouteDependencies, shown: ShownResponse): Promise<ResponseResource> {
  const { service } = dependencies
  const resource = (state: ResponseState) => responseResource(shown, state)
  const events = responseEvents(dependencies, shown, service.soFar(shown.key, shown.runId), resource)
  for (;;) {
    const next = await events.next()
    if (next.done === true) return resource(next.value)
  }
}

/** Remembers the Response that a client received. */
type Remember = (response: ResponseResource) => Promise<void>

interface Followed {
  readonly signal: AbortSignal
  readonly after?: number | undefined
  readonly remember?: Remember
  /** Called after the last event was sent. */
  readonly delivered?: () => Promise<void>
}

/**
 * Returns a function that remembers the output of a completed Response. A client that always sends all messages then
 * finds the session by this history. Such a client may send the output's items, or only their text.
 */
export const remembering =
  (dependencies: RouteDependencies, { turn, about }: NewResponse, shown: ShownResponse): Remember =>
  async ({ status, output }) => {
    if (about.previous !== undefined || status !== 'completed') return
    const messages = messagesOfOutput(output)
    const text = messages
      .map((one) => (one.role === 'assistant' && typeof one.content === 'string' ? one.content : ''))
      .join('')
    const ways = output.some(({ type }) => type === 'message')
      ? [messages, [{ role: 'assistant' as const, content: text }]]
      : [messages]
    await rememberShown(dependencies, turn, shown, ways)
  }

/** Waits for the end of a Response and returns it. After a timeout, returns its current state. */
export async function settled(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  shown: ShownResponse,
  { revoked, remember }: { readonly revoked: AbortSignal; readonly remember: Remember },
): Promise<ResponseResource> {
  const { service } = dependencies
  const stopping = dependencies.stopping()
  const late = AbortSignal.timeout(MAX_RUN_WAIT_MS)
  const signal = AbortSignal.any([late, revoked, stopping, c.get('request').signal])
  const resource = (state: ResponseState) => responseResource(shown, state)
  const events = responseEvents(dependencies, shown, service.follow(shown.key, shown.runId, { signal }), resource)
  for (;;) {
    const next = await events.next()
    if (next.done !== true) continue
    if (revoked.aborted) throw keyRevoked()
    if (stopping.aborted) throw new BrokenOff(shown.runId)
    const response = resource(next.value)
    await remember(response)
    return response
  }
}

const frameOf = (event: ResponseEvent): string => `event: ${event.type}\ndata: ${jsonText(event)}\n\n`

/** The last frame after an error. The SDK throws its message. */
export const failedFrame = (error: Error): string => {
  const { message, code } = openAiErrorOf(describeError(error))
  return `event: error\ndata: ${jsonText({ type: 'error', message, code, param: null })}\n\n`
}

/** Yields the events of a Response as frames. With `after`, yields only the events after this sequence number. */
export async function* frames(
  dependencies: RouteDependencies,
  shown: ShownResponse,
  { signal, after, remember, delivered }: Followed,
): AsyncGenerator<string, void, undefined> {
  const { service } = dependencies
  const resource = (state: ResponseState) => responseResource(shown, state)
  const events = responseEvents(dependencies, shown, service.follow(shown.key, shown.runId, { signal }), resource)
  let last = 0
  for (;;) {
    const next = await events.next()
    if (next.done !== true) {
      last = next.value.sequence_number
      const event = restOf(next.value, after)
      if (event !== undefined) yield frameOf(event)
      continue
    }
    const response = resource(next.value)
    if (response.status === 'queued' || response.status === 'in_progress') return
    await remember?.(response)
    yield frameOf({ type: lastEventType(response), sequence_number: last + 1, response })
    await delivered?.()
    return
  }
}

/** Returns the part of an event after this sequence number; undefined if there is none. */
function restOf(event: ResponseEvent, after: number | undefined): ResponseEvent | undefined {
  if (after === undefined) return event
  if (event.sequence_number <= after) return undefined
  const { delta } = event
  if (typeof delta !== 'string') return event
  const first = event.sequence_number - delta.length + 1
  return first > after ? event : { ...event, delta: delta.slice(after - first + 1) }
}
