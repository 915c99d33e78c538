import type { Context, TypedResponse } from 'hono'
import type { JSONParsed } from 'hono/utils/types'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { OpenRequest } from '../../../access/open-requests.ts'
import type { Accepted, Placement } from '../../../agent/service/agent-service.ts'
import { eventId, type RunEvent } from '../../../domain/events.ts'
import type { Message } from '../../../domain/messages/message.ts'
import type { SessionKey } from '../../../domain/session.ts'
import { STOPPED } from '../../../domain/time/time-limit.ts'
import type { AppDependencies, AppEnv, RouteDependencies } from '../../dependencies.ts'
import { isEventStream, streamEvents } from '../../streaming/event-stream.ts'
import { bytesResponse } from '../../streaming/json-response.ts'
import { bodyOf } from '../../streaming/response-bodies.ts'
import { keyRevoked } from '../../middleware/authentication.ts'
import { runDocument } from './document.ts'
import { framesOf } from './frames.ts'
import { isSettled, requireRun, runResource, type RunResource, type RunView } from './resource.ts'
import { jsonText } from '../../../log/json/well-formed.ts'

/** Maximum length, in characters, of a run that is kept in memory while its 202 response waits. */
const LONG = 4 * 1024

/** Interval of the checks whether a paused run has resumed after its last call was resolved. */
const RESUME_POLL_MS = 50

/** A run that a request has started or resumed. */
export interface AcceptedRun {
  readonly key: SessionKey
  readonly runId: string
  /**
   * The log's last message before the request. Later messages are new to the caller. If undefined, all messages of the
   * run are new.
   */
  readonly since?: Message
  /** Resolves when the run has ended. The service returned it in `Accepted`. */
  readonly ended?: Accepted['ended']
}

/** Decides where the run of this request should be executed. */
export function placementOf(c: Context<AppEnv>): Placement {
  const wants = readPreferences(c.req.header('prefer'))
  return { here: acceptsEventStream(c.req.header('accept')) || !wants.respondAsync }
}

/** Reads the log's last message; undefined if the log is empty. */
export async function lastMessage({ reader }: AppDependencies, key: SessionKey): Promise<Message | undefined> {
  const { messages } = await reader.messages(key, { order: 'descending', limit: 1 })
  return messages[0]
}

const FIRST_EVENTS = { user: 'run.started', assistant: 'message.completed', tool: 'tool_call.started' } as const

/** The event after which a follower of the message's run resumes: the start of the message's round. */
const eventOf = (message: Message | undefined): { after?: string } =>
  message === undefined ? {} : { after: eventId(message.id, FIRST_EVENTS[message.role]) }

type Work = (call: OpenRequest) => Promise<Response>

/**
 * Counts the request as open, then starts or resumes a run with `work`, and responds. If too many
 * requests are open, the request is rejected before it has an effect.
 */
export const whileCounted = async ({ calls }: RouteDependencies, c: Context<AppEnv>, work: Work): Promise<Response> =>
  whileOpen(await calls.open(c.get('caller')), work)

/** Starts or resumes a run and responds. Counts the request as open only if it waits for the run. */
export async function whileWaitingFor(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  work: Work,
): Promise<Response> {
  const waits = acceptsEventStream(c.req.header('accept')) || readPreferences(c.req.header('prefer')).waitMs > 0
  return waits ? whileCounted(dependencies, c, work) : whileOpen(dependencies.calls.watch(c.get('caller')), work)
}

async function whileOpen(call: OpenRequest, work: Work): Promise<Response> {
  let streams = false
  try {
    const response = await work(call)
    streams = isEventStream(response)
    return response
  } finally {
    if (!streams) await call.close()
  }
}

/**
 * Responds in the form that the request asks for:
 *
 * - the run's events as they happen,
 * - status 200 with the run, after the run has ended or while it waits for the caller, or
 * - status 202 with the run's address.
 */
export async function respondWithRun(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  call: OpenRequest,
  accepted: AcceptedRun,
): Promise<Response> {
  const { key, runId, since } = accepted
  if (acceptsEventStream(c.req.header('accept'))) {
    return followRun(dependencies, c, call, accepted, { ...eventOf(since), isMovedOn: since !== undefined })
  }
  const wants = readPreferences(c.req.header('prefer'))
  const { messages: known, ...view } = await waitForRun(dependencies, c, call, accepted, wants.waitMs)
  const headers = wants.applied === undefined ? {} : { 'preference-applied': wants.applied }
  if (!isSettled(view) || (wants.respondAsync && wants.waitMs === 0))
    return runAccepted(dependencies, key, runId, view, {
      ...headers,
      location: `/v1/sessions/${key.session}/runs/${runId}`,
    })
  const run = runResource(key.session, view, runId)
  const document = await runDocument(dependencies, key, run, { of: view.run.id, since: since?.id, known })
  return bytesResponse(dependencies.shared.of(c.get('caller').tenant), document, headers)
}

/**
 * Responds 202 with the run. The request is already executed, so this response is never rejected. While the response waits for
 * its memory budget, a large run is not kept in memory. The run is read again when the response can be sent.
 */
export function runAccepted(
  { reader, shared }: RouteDependencies,
  key: SessionKey,
  runId: string,
  view: RunView,
  headers: Readonly<Record<string, string>> = {},
): Response & TypedResponse<JSONParsed<RunResource>, 202, 'json'> {
  const textOf = (shown: RunView): string => jsonText(runResource(key.session, shown, runId))
  const text = textOf(view)
  const body =
    text.length <= LONG
      ? text
      : bodyOf(
          shared.of(key.tenant).sequential(runId, async (id) => ({
            text: textOf(await requireRun(reader, key, id)),
            next: undefined,
          })),
        )
  const init = { status: 202, headers: { ...headers, 'content-type': 'application/json' } }
  // The cast is safe: the body is the JSON of a run.
  return new Response(body, init) as Response & TypedResponse<JSONParsed<RunResource>, 202, 'json'>
}

interface Follow {
  readonly after?: string | undefined
  /** Whether this request ended a pause of the run. If so, the stream omits pauses that are already over. */
  readonly isMovedOn?: boolean
}

/** Streams a run's events as server-sent events, from the round of event `after` on. */
export function followRun(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  call: OpenRequest,
  { key, runId }: AcceptedRun,
  { after, isMovedOn = false }: Follow,
): Response {
  const { service, reader } = dependencies
  const frameOf = framesOf(reader, key)
  return streamEvents(dependencies, c, call, async function* frames(signal) {
    const events = service.follow(key, runId, { signal, ...definedFields({ after }) })
    for await (const event of isMovedOn ? withoutPassedPauses(events) : events) yield await frameOf(event)
  })
}

/** Drops each pause after which the run has another event. */
async function* withoutPassedPauses(events: AsyncIterable<RunEvent>): AsyncGenerator<RunEvent> {
  let pause: RunEvent | undefined
  for await (const event of events) {
    pause = event.type === 'run.paused' ? event : undefined
    if (pause === undefined) yield event
  }
  if (pause !== undefined) yield pause
}

/**
 * Waits until the run has ended or needs the caller, but at most for the given time. If this process executes the run,
 * the loop returns the run with all of its messages, and nothing is read. Otherwise, the session's header is read once
 * per second, and shows when to read the run.
 */
async function waitForRun(
  dependencies: AppDependencies,
  c: Context<AppEnv>,
  call: OpenRequest,
  { key, runId, ended }: AcceptedRun,
  milliseconds: number,
): Promise<RunView & { readonly messages?: readonly Message[] }> {
  const { service, clock, reader, stopping } = dependencies
  const over = new AbortController()
  const signal = AbortSignal.any([over.signal, c.get('request').signal, stopping(), call.signal])
  if (milliseconds === 0) over.abort(STOPPED)
  else
    void clock.sleep(milliseconds, signal).then(
      () => over.abort(STOPPED),
      () => undefined,
    )
  try {
    const inHand = await unlessAborted(ended, signal)
    if (inHand !== undefined && !call.signal.aborted) return { ...inHand, waiting: [] }
    for (;;) {
      const view = await requireRun(reader, key, runId)
      if (call.signal.aborted) throw keyRevoked()
      if (isSettled(view) || signal.aborted) return view
      await service.settled(key, runId, signal)
      if (!signal.aborted) await clock.sleep(RESUME_POLL_MS, signal).catch(() => undefined)
    }
  } finally {
    over.abort(STOPPED)
  }
}

/** Returns the result of `work`; undefined if there is no work, or if the signal aborts first. */
async function unlessAborted<Result>(
  work: Promise<Result> | undefined,
  signal: AbortSignal,
): Promise<Result | undefined> {
  if (work === undefined || signal.aborted) return undefined
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const stop = (): void => resolve(undefined)
  signal.addEventListener('abort', stop)
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const DEFAULT_WAIT_SECONDS = 60
const MAX_WAIT_SECONDS = 240

export interface Preferences {
  readonly respondAsync: boolean
  /** Maximum time to wait for the run, in milliseconds. */
  readonly waitMs: number
  /** The value of the header `Preference-Applied`. */
  readonly applied: string | undefined
}

/** Reads the supported preferences of `Prefer` (RFC 7240). A wait of more than 240 s is reduced to 240 s. */
export function readPreferences(header: string | undefined): Preferences {
  const wishes = (header ?? '').split(',').map((wish) => wish.trim().toLowerCase())
  const wait = wishes.flatMap((wish) => /^wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$/.exec(wish)?.[1] ?? []).at(0)
  const seconds = wait === undefined ? undefined : Math.min(Number(wait), MAX_WAIT_SECONDS)
  const respondAsync = wishes.some((wish) => /^respond-async\s*(?:;.*)?$/.test(wish))
  const applied = [...(respondAsync ? ['respond-async'] : []), ...(seconds === undefined ? [] : [`wait=${seconds}`])]
  return {
    respondAsync,
    waitMs: (seconds ?? (respondAsync ? 0 : DEFAULT_WAIT_SECONDS)) * 1000,
    applied: applied.length === 0 ? undefined : applied.join(', '),
  }
}

/** Whether `Accept` asks for server-sent events. */
const acceptsEventStream = (accept: string | undefined): boolean =>
  (accept ?? '').split(',').some((range) => /^\s*text\/event-stream\s*(?:;(?!\s*q=0(?:\.0*)?\s*$).*)?$/i.test(range))
