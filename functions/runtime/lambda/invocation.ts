import type { Context } from 'aws-lambda'
import type { SessionWorker } from '../../agent/worker/session-worker.ts'
import type { DeliveryDriver } from '../../delivery/driver.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import type { RunQueue } from '../../ports/run-queue.ts'
import type { TraceExport } from '../tracing/trace-export.ts'
import type { InvocationLogger } from './logger.ts'
import type { RunMetrics } from './metrics.ts'

/** After this many hand-offs in a row, a session waits for the next sweep, so that no chain is endless (record 13). */
const MAX_HANDOFFS = 100
/** Time kept free at the end of the invocation, to release a lease and send a hint. */
const CUT_OFF_MS = 10_000

/** The parts of a function that execute runs. */
export interface Invoked {
  readonly ports: { readonly clock: Clock; readonly queue: Pick<RunQueue, 'send'> }
  readonly worker: Pick<SessionWorker, 'idle' | 'callsEnded' | 'handOff' | 'cutOff' | 'resume'>
  readonly deliveries: Pick<DeliveryDriver, 'idle' | 'handOff' | 'resume'>
  readonly logger: InvocationLogger
  readonly metrics: Pick<RunMetrics, 'flush'>
  /** Resolves once recording of spans has started, if it is configured. */
  readonly traces: Promise<Pick<TraceExport, 'flush'>>
  /** Reports missing secrets once per process. Never rejects. */
  readonly checkSecrets: () => Promise<void>
  readonly stopMarginMs: number
}

/**
 * Does the work of one invocation and waits for everything that the work started. If a function returned early, it
 * would be frozen and would later resume stale work. If work is still in progress `stopMarginMs` before the function
 * times out, the work is handed off through the queue, and its hop count increases by one. The hand-off happens between
 * two rounds or, at the very end, in the middle of a completion (record 14).
 */
export async function invoke<Result>(
  loop: Invoked,
  context: Context,
  hops: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const { ports, worker, deliveries, logger, metrics, stopMarginMs } = loop
  const traces = await loop.traces
  const over = new AbortController()
  logger.begin(context)
  const checked = loop.checkSecrets()
  worker.resume()
  deliveries.resume()
  const before = (margin: number, step: () => unknown): Promise<unknown> =>
    ports.clock.sleep(Math.max(0, context.getRemainingTimeInMillis() - margin), over.signal).then(step, () => undefined)
  const handedOff = before(stopMarginMs, () => handOff(loop, hops + 1))
  void before(Math.min(CUT_OFF_MS, stopMarginMs), () => worker.cutOff('out_of_time'))
  try {
    return await work()
  } finally {
    await worker.idle()
    await deliveries.idle()
    over.abort()
    await handedOff
    await checked
    metrics.flush()
    // Flushes before Lambda freezes the process, because timers stop while it is frozen.
    await traces.flush()
    // An abandoned call must not continue in a later invocation. If a call never ends, the function times out here.
    await worker.callsEnded()
  }
}

async function handOff({ ports, worker, deliveries, logger }: Invoked, hops: number): Promise<void> {
  for (const key of await leftBy({ worker, deliveries })) {
    if (hops > MAX_HANDOFFS) logger.warn('a session was handed off too often and waits for a sweep', { ...key, hops })
    else
      await ports.queue.send({ ...key, hops }).catch((error: unknown) => {
        logger.error('handing off failed: a sweep will find the session', error, { ...key })
      })
  }
}

/** Returns the sessions that the worker and the deliveries hand off, without duplicates. */
async function leftBy({ worker, deliveries }: Pick<Invoked, 'worker' | 'deliveries'>): Promise<Iterable<SessionKey>> {
  const left = await Promise.all([worker.handOff(), deliveries.handOff()])
  return new Map(left.flat().map((key) => [`${key.tenant}/${key.session}`, key])).values()
}
