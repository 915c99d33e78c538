import type { Context } from 'hono'
import type { OpenRequest } from '../../access/open-requests.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import type { AppEnv, RouteDependencies } from '../dependencies.ts'
import type { NamedText } from './buffered-bodies.ts'
import { bodyOf } from './response-bodies.ts'
import type { LongTexts } from './response-bodies.ts'
import { jsonText } from '../../log/json/well-formed.ts'

const HEARTBEAT_MS = 15_000
const HEARTBEAT = ': ka\n\n'
/** Sent when the server ends the stream; the run continues and can be followed again. */
const RECONNECT = ': reconnect\n\n'

export interface ServerSentEvent {
  /** Absent for events that are not stored. So the last id that a client has is always durable. */
  readonly id?: string
  readonly event: string
  readonly data: unknown
}

/** Formats one event for the stream. */
export function frame({ id, event, data }: ServerSentEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${jsonText(data)}\n\n`
}

interface Dependencies {
  readonly clock: Clock
  readonly log: Logger
  readonly stopping: AbortSignal
  readonly texts: LongTexts
}

/**
 * Responds with server-sent events until they end, the client disconnects or the process stops. `open` gets a
 * signal and returns the frames. This signal aborts when the client disconnects, the client's key is revoked or the
 * process stops. Frames are sent at the client's pace, which does not slow the producer of the events.
 */
export function eventStream(
  { clock, log, stopping, texts }: Dependencies,
  gone: AbortSignal,
  call: OpenRequest,
  open: (signal: AbortSignal) => AsyncIterable<string | NamedText>,
): Response {
  const left = new AbortController()
  const signal = AbortSignal.any([left.signal, gone, stopping, call.signal])
  const frames = withHeartbeat({ clock, log, stopping, texts }, call, open(signal))
  const body = bodyOf({
    next: () => frames.next(),
    async return() {
      left.abort()
      const last = await frames.return(undefined)
      // A generator that was never read does not run its `finally`, so the request is closed here.
      await call.close()
      return last
    },
  })
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' },
  })
}

/** Responds to a request with server-sent events, using `eventStream`. */
export const streamEvents = (
  { clock, log, stopping, shared }: RouteDependencies,
  c: Context<AppEnv>,
  call: OpenRequest,
  open: (signal: AbortSignal) => AsyncIterable<string | NamedText>,
): Response =>
  eventStream(
    { clock, log, stopping: stopping(), texts: shared.of(c.get('caller').tenant) },
    c.get('request').signal,
    call,
    open,
  )

const bytesOf = (text: string): Uint8Array => Buffer.from(text)

/** Whether a response is an event stream. An event stream closes its `OpenRequest` itself. */
export const isEventStream = (response: Response): boolean =>
  response.headers.get('content-type') === 'text/event-stream'

async function* withHeartbeat(
  { clock, log, stopping, texts }: Dependencies,
  call: OpenRequest,
  frames: AsyncIterable<string | NamedText>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const timer = new AbortController()
  const beat = (): Promise<'beat'> =>
    clock.sleep(HEARTBEAT_MS, timer.signal).then(
      () => 'beat',
      () => 'beat',
    )
  const iterator = frames[Symbol.asyncIterator]()
  try {
    let next = iterator.next()
    let heartbeat = beat()
    for (;;) {
      const result = await Promise.race([next, heartbeat])
      if (result === 'beat') {
        yield bytesOf(HEARTBEAT)
        heartbeat = beat()
      } else if (result.done === true) break
      else {
        yield* texts.pieces(result.value)
        next = iterator.next()
      }
    }
    if (stopping.aborted) yield bytesOf(RECONNECT)
  } catch (error) {
    // The headers are already sent, so no error response is possible. The stream ends without a terminal event, and the
    // client reconnects.
    log.error('an event stream broke off', error)
    yield bytesOf(RECONNECT)
  } finally {
    timer.abort()
    await Promise.all([call.close(), iterator.return?.()])
  }
}
