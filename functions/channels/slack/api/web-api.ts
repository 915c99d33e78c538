import { definedFields } from '../../../domain/defined-fields.ts'
import { steadyTime } from '../../../domain/time/steady-time.ts'
import { jsonFault } from '../../../log/json/json-size.ts'
import { guardedFetch } from '../../../tools/guarded-fetch.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Json, JsonObject } from '../../../domain/json.ts'
import { createRateLimits } from './rate-limits.ts'
import { SlackBusy, SlackRefusal, SlackSilence } from './slack-error.ts'
import { jsonText } from '../../../log/json/well-formed.ts'

/** Timeout of Slack's response. */
const RESPONSE_MS = 10_000
const RESPONSE_BYTES = 16_000_000
/** Error codes for failures on Slack's side. A response with such a code has status 200, and the call may have succeeded. */
const OWN_FAULTS = new Set(['internal_error', 'fatal_error', 'request_timeout', 'service_unavailable'])
/** Methods that only read data. Slack accepts no JSON arguments for them. */
const READING = new Set([
  'auth.test',
  'apps.connections.open',
  'conversations.replies',
  'files.getUploadURLExternal',
  'users.info',
])
const DEFAULT_PAUSE_SECONDS = 30
const REQUEST_TIMEOUT_MS = 60_000

export interface SlackCall {
  readonly token: string
  readonly method: string
  readonly args: JsonObject
  /** The workspace whose rate limit applies. */
  readonly team: string
  readonly signal?: AbortSignal
  /** Maximum time that the call waits for the rate limit, in milliseconds. @default 60,000 */
  readonly timeoutMs?: number
}

export interface SlackApi {
  /**
   * Calls a method as soon as Slack's rate limits allow it. Rejects with `SlackRefusal` or `SlackBusy` if nothing was
   * done, and with `SlackSilence` if the outcome is unknown.
   */
  call(call: SlackCall): Promise<JsonObject>
  /** Milliseconds that a call would have to wait now. */
  wait(call: Pick<SlackCall, 'team' | 'method' | 'args'>): number
}

export interface SlackApiDependencies {
  readonly clock: Clock
  /** The API's address, ending with `/api/`. */
  readonly apiUrl: string
  readonly allowedHosts: readonly string[]
}

/** Creates a client of Slack's Web API, over the guarded fetch (decision record 28). */
export function createSlackApi(dependencies: SlackApiDependencies): SlackApi {
  const { clock } = dependencies
  const now = steadyTime(() => clock.now())
  const limits = createRateLimits({ now })
  return {
    async call(one) {
      const { method, signal, timeoutMs = REQUEST_TIMEOUT_MS } = one
      const place = placeOf(one)
      for (const started = now(); ;) {
        const waiting = limits.wait(place, method)
        if (now() + waiting - started > timeoutMs) throw new SlackBusy(method, waiting)
        limits.take(place, method)
        if (waiting > 0) await clock.sleep(waiting, signal)
        const { status, retryAfter, body } = await send(dependencies, one)
        if (status === 429) limits.pause(place, method, retryAfter * 1_000)
        else return resultOf(method, status, body)
      }
    },
    wait: (one) => limits.wait(placeOf(one), one.method),
  }
}

/** Sends one request and returns the response, whatever its status. */
async function send({ apiUrl, allowedHosts }: SlackApiDependencies, { token, method, args, signal }: SlackCall) {
  const asForm = READING.has(method)
  const headers = new Headers({
    authorization: `Bearer ${token}`,
    'content-type': asForm ? 'application/x-www-form-urlencoded' : 'application/json; charset=utf-8',
  })
  try {
    const response = await guardedFetch(new URL(method, apiUrl), {
      method: 'POST',
      headers,
      body: asForm ? formOf(args) : jsonText(args),
      ...definedFields({ signal }),
      limits: { bytes: RESPONSE_BYTES, milliseconds: RESPONSE_MS },
      allowedHosts,
    })
    const asked = Number(response.headers.get('retry-after') ?? '')
    const retryAfter = asked > 0 ? asked : DEFAULT_PAUSE_SECONDS
    return { status: response.status, retryAfter, body: await response.text() }
  } catch (error) {
    throw new SlackSilence(method, error)
  }
}

/** The key of a rate limit: the channel for posts, the workspace for other methods. */
const placeOf = ({ team, method, args }: Pick<SlackCall, 'team' | 'method' | 'args'>): string =>
  method === 'chat.postMessage' ? `${team} ${jsonText(args['channel'])}` : team

const formOf = (args: JsonObject): string =>
  new URLSearchParams(
    Object.entries(args).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, textOf(value)]],
    ),
  ).toString()

const textOf = (value: Json): string => (typeof value === 'string' ? value : jsonText(value))

function resultOf(method: string, status: number, body: string): JsonObject {
  if (status !== 200) throw new SlackSilence(method, `status ${status}`)
  const fault = jsonFault(body)
  if (fault !== undefined) throw new SlackSilence(method, `a response that ${fault}`)
  let result: unknown
  try {
    result = JSON.parse(body)
  } catch (error) {
    throw new SlackSilence(method, error)
  }
  if (typeof result !== 'object' || result === null) throw new SlackSilence(method, 'no JSON object')
  const { ok, error } = result as { readonly ok?: unknown; readonly error?: unknown }
  if (ok === true) return result as JsonObject
  const code = typeof error === 'string' ? error : 'unknown'
  if (OWN_FAULTS.has(code)) throw new SlackSilence(method, code)
  throw new SlackRefusal(method, code)
}
