import { jsonFault } from '../../../log/json/json-size.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Refusal } from '../../../ports/inbound-endpoint.ts'
import { readBytes, TOO_LARGE } from '../../read-bytes.ts'
import { isSigned } from './signature.ts'

/** A request from Slack. Its type shows the action that it needs. */
export type SlackRequest =
  | { readonly type: 'refused'; readonly refusal: Refusal }
  | { readonly type: 'url_verification'; readonly challenge: string }
  | { readonly type: 'event'; readonly payload: unknown }
  | { readonly type: 'interaction'; readonly payload: unknown }
  /** A request from Slack that needs no action. */
  | { readonly type: 'other' }

const refused = (status: Refusal['status'], code: string, detail: string): SlackRequest => ({
  type: 'refused',
  refusal: { status, code, detail },
})

/** Reads a request with a valid Slack signature: JSON for events, a form for buttons and commands. */
export async function readRequest(
  { clock, secret }: { readonly clock: Pick<Clock, 'now'>; readonly secret: string },
  request: Request,
): Promise<SlackRequest> {
  const body = await readBytes(request)
  if (body === undefined) return { type: 'refused', refusal: TOO_LARGE }
  if (!isSigned(secret, request.headers, body, clock.now()))
    return refused(401, 'unauthorized', 'this request is not signed by Slack, or is not of the last 5 minutes')
  const text = body.toString()
  const isForm = (request.headers.get('content-type') ?? '').startsWith('application/x-www-form-urlencoded')
  const json = isForm ? new URLSearchParams(text).get('payload') : text
  if (json === null) return { type: 'other' }
  const payload = parseJson(json)
  if (payload === undefined) return refused(400, 'malformed_body', 'the body is not a JSON object')
  if (isForm) return { type: 'interaction', payload }
  const { type, challenge } = payload as { readonly type?: unknown; readonly challenge?: unknown }
  if (type === 'event_callback') return { type: 'event', payload }
  if (type === 'url_verification' && typeof challenge === 'string') return { type, challenge }
  return { type: 'other' }
}

/** Undefined unless the text is a JSON object within the limits of depth and size. */
function parseJson(text: string): object | undefined {
  try {
    if (jsonFault(text) !== undefined) return undefined
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
