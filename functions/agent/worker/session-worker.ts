import { randomUUID } from 'node:crypto'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Session, SessionKey } from '../../domain/session.ts'
import { isBlocked, isFree, keyOf } from '../../domain/session.ts'
import { runStarted } from '../../log/run-events.ts'
import type { RunQueue } from '../../ports/run-queue.ts'
import type { SessionJanitor } from '../../ports/session-janitor.ts'
import type { Started } from '../../ports/run-lease.ts'
import { nameOf } from '../events/event-bus.ts'
import { CutOff } from '../loop/model/complete.ts'
import type { HandOff } from '../loop/run-loop.ts'
import type { EndedRun, HeldRun, LoopDependencies, ReleasedPhase } from '../loop/run-state.ts'
import { withinTime } from '../../domain/time/time-limit.ts'
import { trackToolCalls } from './in-flight-calls.ts'
import { createTitles } from './titles.ts'
import type { Titles } from './titles.ts'

/**
 * Timeout for finding and claiming work. It lets the session be served again later if the store never responds. If a claim
 * succeeds after the timeout, this process does not use the lease, and the lease expires.
 */
const CLAIM_TIMEOUT_MS = 30_000
/**
 * Maximum number of attempts to claim a session when writes are rejected. After the last attempt, the session is left
 * to the process that was faster.
 */
const ATTEMPTS = 5

export interface SessionWorker {
  /** Executes the session's runs one after the other, unless another process holds the session. */
  serve(key: SessionKey): Promise<void>
  /** Executes a run that was started with this process as its holder, then continues as `serve`. */
  serveStarted(session: Session, started: Started): StartedServing
  /** Whether this process is executing a run of the session now. */
  isServing(key: SessionKey): boolean
  /** Resolves when no run executes and no title is being requested. */
  idle(): Promise<void>
  /**
   * Resolves when no tool executes here any more, including tools that ignored their timeout, a cancel or a lost lease.
   */
  callsEnded(): Promise<void>
  /**
   * Stops runs between two rounds and leaves them to other processes. Resolves with their sessions when all have
   * stopped. Starts nothing until `resume` is called.
   */
  handOff(): Promise<readonly SessionKey[]>
  /** Speeds up the hand-off by cutting off completions in flight. The next holder requests them again. */
  cutOff(why: CutOff['why']): void
  /** Accepts work again after `handOff`. */
  resume(): void
  /** Like `handOff`, but permanently. */
  stop(): Promise<void>
}

export interface StartedServing {
  /** Resolves when this process has no more work for the session. */
  readonly done: Promise<void>
  /** The ended run; undefined if it did not end here, or if some of its messages are not loaded. */
  readonly ended: Promise<EndedRun | undefined>
}

/** A run that this process has started, and the callback that settles its starter's promise. */
interface StartedRun {
  readonly held: HeldRun
  settle(ended: EndedRun | undefined): void
}

type Dependencies = LoopDependencies & { readonly janitor: SessionJanitor; readonly queue: Pick<RunQueue, 'send'> }

/**
 * Creates the session worker, the only component of a process that acquires leases. It never serves one session twice at the
 * same time.
 */
export function createSessionWorker(ports: Dependencies): SessionWorker {
  const calls = trackToolCalls(ports.tools)
  const dependencies = { ...ports, tools: calls.tools }
  const serving = new Map<string, { readonly key: SessionKey; done: Promise<void>; again: boolean }>()
  const titles = createTitles(dependencies)
  let stopping = createStops()

  function begin(key: SessionKey, started?: StartedRun): Promise<void> {
    const name = nameOf(key)
    const current = serving.get(name)
    if (current !== undefined) {
      current.again = true
      if (started === undefined) return current.done
      return Promise.allSettled([current.done]).then(() => begin(key, started))
    }
    const entry = { key, done: Promise.resolve(), again: false }
    serving.set(name, entry)
    return (entry.done = work(key, entry, started))
  }

  async function work(key: SessionKey, entry: { again: boolean }, started?: StartedRun): Promise<void> {
    let released: ReleasedPhase['phase'] = 'unopened'
    let next = started
    try {
      do {
        entry.again = false
        const held = next?.held ?? (await withinTime(CLAIM_TIMEOUT_MS, 'the store', () => acquire(dependencies, key)))
        if (held === undefined) continue
        entry.again = true
        released = await execute({ ...dependencies, titles }, held, stopping, next)
        next = undefined
      } while (entry.again && released !== 'lost' && !stopping.afterRound.signal.aborted)
    } finally {
      // No `await` follows the last check of `again`, so no hint can arrive after the check and be lost.
      serving.delete(nameOf(key))
      next?.settle(undefined)
    }
  }

  return {
    serve: (key) => (stopping.afterRound.signal.aborted ? Promise.resolve() : begin(key)),
    serveStarted(session, started) {
      const { ended, ...run } = withEndPromise(holdStarted(dependencies, started, session))
      return { done: begin(keyOf(session), run), ended }
    },
    isServing: (key) => serving.has(nameOf(key)),
    idle: () => allDone(serving, titles),
    callsEnded: calls.ended,
    handOff: () => stopped([...serving.values()].map(({ key }) => keyOf(key))),
    cutOff: (why) => cutOff(stopping, why),
    resume: () => void (stopping = createStops()),
    stop: () => stopped(undefined),
  }

  async function stopped<Left>(left: Left): Promise<Left> {
    stopping.afterRound.abort()
    await allDone(serving, titles)
    return left
  }
}

/** Executes a held run until it ends, pauses or is handed off, and settles its starter's promise. */
async function execute(
  { titles, ...dependencies }: Dependencies & { readonly titles: Titles },
  held: HeldRun,
  stopping: Stops,
  started: StartedRun | undefined,
): Promise<ReleasedPhase['phase']> {
  // If a run starts after `handOff` was called, `handOff` does not return the session of that run. If that run is handed
  // off too, another process gets a hint.
  const isUnknown = stopping.afterRound.signal.aborted
  // Imported with the first run: a process that only serves reads may never execute one.
  const [{ openRun }, { executeRun }] = await Promise.all([
    import('../loop/open-run.ts'),
    import('../loop/run-loop.ts'),
  ])
  const run = await openRun(dependencies, held)
  const released = run.phase === 'open' ? await executeRun(run, handOffOf(stopping)) : run
  started?.settle(endedRunOf(released))
  if (isUnknown && released.phase === 'handed_off') await hint(dependencies, held.lease)
  titles.ask(keyOf(held.lease), released.phase === 'ended' ? released.run : undefined, stopping.atOnce.signal)
  return released.phase
}

/**
 * Hints to another process that the session has work. A hint that cannot be sent is only logged: the sweeper finds the
 * session.
 */
async function hint({ queue, logger }: Pick<Dependencies, 'queue' | 'logger'>, key: SessionKey): Promise<void> {
  try {
    await queue.send(keyOf(key))
  } catch (error) {
    logger.error('handing over failed: a sweep will find the session', error, { ...keyOf(key) })
  }
}

/** A held run with the promise of its end. */
function withEndPromise(held: HeldRun): StartedRun & { readonly ended: Promise<EndedRun | undefined> } {
  const { promise: ended, resolve: settle } = Promise.withResolvers<EndedRun | undefined>()
  return { held, settle, ended }
}

/** Resolves when no session is served and no title is being requested. */
async function allDone(serving: ReadonlyMap<string, { readonly done: Promise<void> }>, titles: Titles): Promise<void> {
  while (serving.size > 0 || titles.inFlight().length > 0)
    await Promise.allSettled([...[...serving.values()].map(({ done }) => done), ...titles.inFlight()])
}

function endedRunOf(released: ReleasedPhase): EndedRun | undefined {
  if (released.phase !== 'ended' || released.messages === undefined) return undefined
  return { run: released.run, messages: released.messages }
}

type Stops = { readonly [when in keyof HandOff]: AbortController }

const createStops = (): Stops => ({ afterRound: new AbortController(), atOnce: new AbortController() })

function cutOff({ afterRound, atOnce }: Stops, why: CutOff['why']): void {
  afterRound.abort()
  atOnce.abort(new CutOff(why))
}

const handOffOf = ({ afterRound, atOnce }: Stops): HandOff => ({
  afterRound: afterRound.signal,
  atOnce: atOnce.signal,
})

/**
 * Reads the session's header, then starts or resumes a run and claims it (session-protocol, Read). Returns undefined if
 * there is nothing to do here. Data that may crash the process are not read here: `openRun` reads them, after it has ended runs
 * that crash repeatedly.
 */
async function acquire(dependencies: Dependencies, key: SessionKey): Promise<HeldRun | undefined> {
  const { lease: leases, clock, janitor, reader } = dependencies
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const seen = await leases.readHeader(key)
    if (seen === undefined || seen.status !== 'live' || !isFree(seen, clock.now())) return undefined
    if (seen.activeRun !== undefined && !isBlocked(seen)) {
      const taken = await leases.take(seen, randomUUID())
      if (taken === undefined) continue
      const { lease, header, open } = await leases.claim(taken)
      const run = await reader.run(key, lease.runId)
      if (run === undefined) return undefined
      return { lease, run, origin: 'resumed', found: { header, open } }
    }
    if (seen.activeRun === undefined && seen.queued > 0) {
      const started = await leases.start(seen, randomUUID())
      if (started === undefined) continue
      return holdStarted(dependencies, started)
    } else if (seen.due === undefined || (await janitor.clearDue(key))) return undefined
  }
  return undefined
}

function holdStarted({ emit }: Dependencies, { lease, run, message }: Started, session?: Session): HeldRun {
  emit(lease, runStarted(run, message))
  return { lease, run, ...definedFields({ session }), origin: 'started' }
}
