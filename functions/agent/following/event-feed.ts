import { TooltrailError } from '../../domain/errors.ts'
import { isTerminal } from '../../domain/events.ts'
import type { RunEvent } from '../../domain/events.ts'
import { OPEN_STATUSES } from '../../domain/message.ts'
import type { Message } from '../../domain/message.ts'
import type { Run } from '../../domain/run.ts'
import type { SessionKey } from '../../domain/session.ts'
import { isBlocked } from '../../domain/session.ts'
import { eventsFrom, storedEvents } from '../../log/stored-events.ts'
import type { Clock } from '../../ports/clock.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import { nameOf } from './event-bus.ts'
import type { EventBus } from './event-bus.ts'

/** How often the log is looked at for what other processes have stored. */
const TAIL_MS = 500
const PAGE = 200
const PAGE_CHARACTERS = 4_000_000

interface Dependencies {
  readonly reader: LogReader
  readonly lease: RunLease
  readonly clock: Clock
  readonly bus: EventBus
}

/**
 * A run's events: first what its log tells from the round of event `after` on, then live ones, each stored event once. What
 * other processes store is found by tailing the log. Ends after the run's terminal event or when `signal` aborts.
 */
export async function* followRun(
  dependencies: Dependencies,
  key: SessionKey,
  runId: string,
  { after, signal }: { readonly after?: string; readonly signal: AbortSignal },
): AsyncGenerator<RunEvent> {
  const subscription = dependencies.bus.subscribe(key)
  signal.addEventListener('abort', subscription.close)
  const filter = createFilter()
  const runs = shareRuns(dependencies.reader, key)
  let target = runId
  let first = true
  try {
    while (!signal.aborted) {
      const { run, events } = await tail(dependencies, key, target, runs.read)
      target = run.id
      const left = first ? eventsFrom(events, after) : events
      // What lies before the round to go on from is known to the consumer: it must not come when the log is looked at again.
      for (const event of events.slice(0, events.length - left.length)) filter.isNew(event)
      for (const event of left) {
        if (!filter.isNew(event)) continue
        yield event
        if (isTerminal(event)) return
      }
      first = false
      if (yield* live()) return
    }
  } finally {
    signal.removeEventListener('abort', subscription.close)
    subscription.close()
    runs.close()
  }

  /** Yields what this process emits for as long as events come; answers whether the run's terminal event was among them. */
  async function* live(): AsyncGenerator<RunEvent, boolean> {
    for (;;) {
      const { events, gap } = await subscription.next(TAIL_MS)
      for (const event of events) {
        if (event.runId !== target) continue
        // This process has lost the run and taken it up again: what had streamed of the round streams anew.
        if (event.type === 'round.started' && filter.isStreaming(event.round))
          yield { ...event, type: 'round.restarted', reason: 'resumed' }
        if (!filter.isNew(event)) continue
        yield event
        if (isTerminal(event)) return true
      }
      if (events.length === 0 || gap || signal.aborted) return false
    }
  }
}

/** The run, or the one that it was merged into, with what its log tells. Rejects with `run_not_found`. */
async function tail(
  dependencies: Dependencies,
  key: SessionKey,
  runId: string,
  read: (run: Run) => Promise<readonly Message[]>,
): Promise<{ run: Run; events: readonly RunEvent[] }> {
  const { reader, lease } = dependencies
  const run = await reader.run(key, runId)
  if (run === undefined) throw new TooltrailError('run_not_found', `session ${key.session} has no run ${runId}`)
  if (run.status === 'merged' && run.mergedInto !== undefined) return tail(dependencies, key, run.mergedInto, read)
  const header = run.status === 'paused' ? await lease.look(key) : undefined
  const messages = await read(run)
  return { run, events: storedEvents(run, messages, header !== undefined && isBlocked(header)) }
}

/** A run's messages as who follows it in this process has read them: its followers share them, however many they are. */
interface SharedRun {
  followers: number
  messages: Promise<readonly Message[]>
}

const sharedRuns = new WeakMap<LogReader, Map<string, SharedRun>>()

/** Reads runs' messages; when asked again, only those that are new or can have changed since. */
function shareRuns(reader: LogReader, key: SessionKey): { read(run: Run): Promise<readonly Message[]>; close(): void } {
  const runs = sharedRuns.get(reader) ?? new Map<string, SharedRun>()
  sharedRuns.set(reader, runs)
  let name: string | undefined
  const close = (): void => {
    const shared = name === undefined ? undefined : runs.get(name)
    if (name !== undefined && shared !== undefined && --shared.followers === 0) runs.delete(name)
    name = undefined
  }
  return {
    async read(run) {
      if (run.startedAt === undefined) return []
      const wanted = `${nameOf(key)}/${run.id}`
      const shared = runs.get(wanted) ?? { followers: 0, messages: Promise.resolve([]) }
      if (wanted !== name) {
        close()
        name = wanted
        shared.followers++
        runs.set(wanted, shared)
      }
      // One after another, each as of its own time.
      const before = shared.messages.catch((): readonly Message[] => [])
      shared.messages = before.then((known) => readOn(reader, key, run, known))
      return shared.messages
    },
    close,
  }
}

async function readOn(
  reader: LogReader,
  key: SessionKey,
  run: Run,
  before: readonly Message[],
): Promise<readonly Message[]> {
  const firstOpen = before.findIndex((one) => one.role === 'tool' && OPEN_STATUSES.includes(one.status))
  const known = before.slice(0, firstOpen === -1 ? before.length : firstOpen)
  for (let more = true; more;) {
    const after = known.at(-1)?.id
    const query = { order: 'ascending', limit: PAGE, mostCharacters: PAGE_CHARACTERS, run: run.id } as const
    const page = await reader.messages(key, after === undefined ? query : { ...query, after })
    known.push(...page.messages)
    more = page.more
  }
  return known
}

/** Tells events that a consumer has had, or that are stale because their round is stored, from new ones. */
function createFilter(): { isNew(event: RunEvent): boolean; isStreaming(round: number): boolean } {
  const known = new Set<string>()
  let storedRound = -1
  let startedRound = -1
  return {
    isStreaming: (round) => round > storedRound && round <= startedRound,
    isNew(event) {
      if ('id' in event) {
        if (known.has(event.id)) return false
        known.add(event.id)
        if (event.type === 'message.completed') storedRound = Math.max(storedRound, event.message.round)
        return true
      }
      if (!('round' in event)) return true
      if (event.round <= storedRound) return false
      if (event.type !== 'round.started') return true
      if (event.round <= startedRound) return false
      startedRound = event.round
      return true
    },
  }
}
