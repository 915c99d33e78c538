import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'

const HEARTBEAT_MS = 15_000
const HEARTBEAT = ': ka\n\n'
/** Says that the stream ends for this server's reasons: the run goes on, and can be followed again. */
const RECONNECT = ': reconnect\n\n'

export interface ServerSentEvent {
  /** Absent on what is not stored: the client's last id then stays at something durable. */
  readonly id?: string
  readonly event: string
  readonly data: unknown
}

interface Dependencies {
  readonly clock: Clock
  readonly log: Logger
  readonly stopping: AbortSignal
}

/**
 * Answers with server-sent events until they end, the client leaves or the process stops; `open` gets the signal that tells.
 * The reader sets the pace, and whatever produces the events does not depend on it.
 */
export function eventStream(
  { clock, log, stopping }: Dependencies,
  gone: AbortSignal,
  open: (signal: AbortSignal) => AsyncIterable<ServerSentEvent>,
): Response {
  const left = new AbortController()
  const signal = AbortSignal.any([left.signal, gone, stopping])
  const frames = withHeartbeat({ clock, log, stopping }, open(signal))
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await frames.next()
      if (done === true) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      left.abort()
      await frames.return(undefined)
    },
  })
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' },
  })
}

/** One event as it goes over the wire. */
function frame({ id, event, data }: ServerSentEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

async function* withHeartbeat(
  { clock, log, stopping }: Dependencies,
  events: AsyncIterable<ServerSentEvent>,
): AsyncGenerator<string, void, undefined> {
  const timer = new AbortController()
  const beat = (): Promise<'beat'> =>
    clock.sleep(HEARTBEAT_MS, timer.signal).then(
      () => 'beat',
      () => 'beat',
    )
  const iterator = events[Symbol.asyncIterator]()
  try {
    let next = iterator.next()
    let heartbeat = beat()
    for (;;) {
      const result = await Promise.race([next, heartbeat])
      if (result === 'beat') {
        yield HEARTBEAT
        heartbeat = beat()
      } else if (result.done === true) break
      else {
        yield frame(result.value)
        next = iterator.next()
      }
    }
    if (stopping.aborted) yield RECONNECT
  } catch (error) {
    // The headers are out: all that is left is to end without a terminal event, so that the client comes back.
    log.error('an event stream broke off', error)
    yield RECONNECT
  } finally {
    timer.abort()
    await iterator.return?.()
  }
}
