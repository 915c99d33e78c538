import { randomUUID } from 'node:crypto'
import type { Session, SessionKey } from '../../domain/session.ts'
import { isBlocked, isFree, keyOf } from '../../domain/session.ts'
import { runResumed, runStarted } from '../../log/run-events.ts'
import type { SessionJanitor } from '../../ports/session-janitor.ts'
import type { Started } from '../../ports/run-lease.ts'
import { nameOf } from '../following/event-bus.ts'
import { CutOff } from '../loop/completion.ts'
import type { HeldRun, LoopDependencies } from '../loop/loop-dependencies.ts'
import { openRun } from '../loop/open-run.ts'
import { executeRun } from '../loop/run-loop.ts'
import type { LoopEnding } from '../loop/run-ending.ts'
import type { HandOver } from '../loop/run-loop.ts'
import { inRunSpan } from '../loop/run-span.ts'
import type { RunState } from '../loop/run-state.ts'
import { withinTime } from '../loop/time-limit.ts'

/**
 * Milliseconds for finding and taking what there is to do: where the store does not come back, the session must not be kept
 * from being served later. A lease that was taken all the same ends by itself.
 */
const LOOK_MS = 30_000
/** Looks after refused writes before the session is left to whoever was faster. */
const ATTEMPTS = 5

export interface SessionWorker {
  /** Executes whatever the session has to do, one run after the other, unless somebody else holds it. */
  serve(key: SessionKey): Promise<void>
  /** Executes a run that was started with this process as its holder, then goes on as `serve`. */
  serveStarted(session: Session, started: Started): Promise<void>
  /** Whether this process is executing a run of the session now. */
  isServing(key: SessionKey): boolean
  /** Resolves when nothing is being executed. */
  idle(): Promise<void>
  /** Runs stop between two rounds and are left to others. Resolves with whose, when all have. Nothing is begun until `resume`. */
  handOver(): Promise<readonly SessionKey[]>
  /** Makes haste with handing over: completions that models still give are cut off, to be asked for again by whoever goes on. */
  cutOff(why: CutOff['why']): void
  /** Begins what it is asked for again. */
  resume(): void
  /** As `handOver`, but for good. */
  stop(): Promise<void>
}

type Dependencies = LoopDependencies & { readonly janitor: SessionJanitor }

/** The one place of a process that takes leases; a session is served by it once at a time. */
export function createSessionWorker(dependencies: Dependencies): SessionWorker {
  const serving = new Map<string, { readonly key: SessionKey; done: Promise<void>; again: boolean }>()
  let stopping = createStops()

  function begin(key: SessionKey, started?: HeldRun): Promise<void> {
    const name = nameOf(key)
    const current = serving.get(name)
    if (current !== undefined) {
      current.again = true
      if (started === undefined) return current.done
      return Promise.allSettled([current.done]).then(() => begin(key, started))
    }
    const entry = { key, done: Promise.resolve(), again: false }
    serving.set(name, entry)
    entry.done = work(key, entry, started)
    return entry.done
  }

  async function work(key: SessionKey, entry: { again: boolean }, started?: HeldRun): Promise<void> {
    let ending: LoopEnding = 'ended'
    let next = started
    try {
      do {
        entry.again = false
        const held = next ?? (await withinTime(LOOK_MS, 'the store', () => acquire(dependencies, key)))
        next = undefined
        if (held === undefined) continue
        entry.again = true
        const state = await openRun(dependencies, held)
        ending = state === undefined ? 'ended' : await execute(state, stopping)
      } while (entry.again && ending !== 'lost' && !stopping.afterRound.signal.aborted)
    } finally {
      // In the same turn as the last look at `again`, so that no hint can come in between and be lost.
      serving.delete(nameOf(key))
    }
  }

  return {
    serve: (key) => (stopping.afterRound.signal.aborted ? Promise.resolve() : begin(key)),
    serveStarted: (session, started) => begin(keyOf(session), holdStarted(dependencies, session, started)),
    isServing: (key) => serving.has(nameOf(key)),
    idle: settled,
    handOver() {
      const left = [...serving.values()].map(({ key }) => keyOf(key))
      return stop().then(() => left)
    },
    cutOff: (why) => cutOff(stopping, why),
    resume: () => void (stopping = createStops()),
    stop,
  }

  async function settled(): Promise<void> {
    while (serving.size > 0) await Promise.allSettled([...serving.values()].map((entry) => entry.done))
  }

  function stop(): Promise<void> {
    stopping.afterRound.abort()
    return settled()
  }
}

type Stops = { readonly [when in keyof HandOver]: AbortController }

const createStops = (): Stops => ({ afterRound: new AbortController(), atOnce: new AbortController() })

function cutOff({ afterRound, atOnce }: Stops, why: CutOff['why']): void {
  afterRound.abort()
  atOnce.abort(new CutOff(why))
}

async function execute(state: RunState, stops: Stops): Promise<LoopEnding> {
  const handOver = { afterRound: stops.afterRound.signal, atOnce: stops.atOnce.signal }
  try {
    return await inRunSpan(state, () => executeRun(state, handOver))
  } finally {
    state.keeper.stop()
  }
}

/** Looks, then starts or takes, claims and reads (session-protocol, Look). Undefined when there is nothing to do here. */
async function acquire(dependencies: Dependencies, key: SessionKey): Promise<HeldRun | undefined> {
  const { lease: leases, clock, janitor, reader, sessions } = dependencies
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const seen = await leases.look(key)
    if (seen === undefined || seen.status !== 'live' || !isFree(seen, clock.now())) return undefined
    if (seen.activeRun !== undefined && !isBlocked(seen)) {
      const taken = await leases.take(seen, randomUUID())
      if (taken === undefined) continue
      const { lease, header, open } = await leases.claim(taken)
      const [run, session] = await Promise.all([reader.run(key, lease.runId), sessions.read(key)])
      if (run === undefined || session === undefined) return undefined
      dependencies.emit(key, runResumed(run, header.head))
      return { lease, run, session, origin: 'resumed', found: { header, open } }
    }
    if (seen.activeRun === undefined && seen.queued > 0) {
      const started = await leases.start(seen, randomUUID())
      if (started === undefined) continue
      const session = await sessions.read(key)
      return session === undefined ? undefined : holdStarted(dependencies, session, started)
    } else if (seen.due === undefined || (await janitor.clearDue(key))) return undefined
  }
  return undefined
}

function holdStarted({ emit }: Dependencies, session: Session, { lease, run, message }: Started): HeldRun {
  emit(lease, runStarted(run, message))
  return { lease, run, session, origin: 'started' }
}
