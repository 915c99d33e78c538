import type { SessionHeader, SessionKey } from '../../domain/session.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import { nameOf } from './event-bus.ts'

/** Polling interval for consumers that show every event, in milliseconds. */
const EVENTS_POLL_MS = 450
/** Polling interval for consumers that wait for the end of a run. */
const ENDS_POLL_MS = 950

/** Number of polls after which the log counts as possibly changed. Some changes of the log leave the header unchanged. */
const POLLS_PER_TAIL = 2

/** Counters of one consumer: observed changes of the header, and polls that count as a possible change of the log. */
interface PollState {
  readonly changes: number
  readonly tails: number
}

/** One consumer's view of a session's header. */
export interface HeaderPoll {
  /**
   * Returns the counters after the latest read of the header. A log that is read afterwards is at least as new as that header.
   */
  state(): Promise<PollState>
  /**
   * Returns `change` if the header has changed since `state` was returned. Otherwise, returns `time` if enough polls have passed
   * that the log may have changed, or `nothing`.
   */
  since(state: PollState): 'change' | 'time' | 'nothing'
  close(): void
}

interface Consumer {
  readonly everyMs: number
  take(read: HeaderRead): void
  fail(): void
}

interface HeaderRead {
  readonly header: SessionHeader | undefined
  readonly tails: number
}

interface Poller {
  readonly consumers: Set<Consumer>
  readonly first: Promise<void>
  latest: HeaderRead | undefined
}

/** Pollers by session. All consumers of a process share one for each session. */
const pollers = new WeakMap<HeaderReader, Map<string, Poller>>()

type HeaderReader = Pick<RunLease, 'readHeaderEventually'>

/** Returns the fields of a header that change with events. The lease's expiry is omitted, because each heartbeat moves it. */
const allOf = (header: SessionHeader | undefined): unknown[] => [endOf(header), header?.head, header?.waiting]

/**
 * Returns the fields of a header that change when a run starts, ends or pauses. `generation` is one of them: the release of a
 * lease raises it.
 */
function endOf(header: SessionHeader | undefined): unknown[] {
  if (header === undefined) return []
  const { status, generation, activeRun, waiting, queued, cancel } = header
  return [status, generation, activeRun, waiting > 0, queued, cancel?.run]
}

/**
 * Polls a session's header until `close` is called. A consumer of `events` shows every event, so `wake` is called after every
 * poll. A consumer of `ends` waits for the end of a run, so `wake` is called only after a change. Both are woken after a failed
 * read: the consumer reads the log, and that read reports the failure. All consumers of a session are woken together.
 */
export function pollHeader(
  lease: HeaderReader,
  key: SessionKey,
  { of, wake }: { readonly of: 'events' | 'ends'; readonly wake: () => void },
): HeaderPoll {
  const [show, everyMs] = of === 'events' ? [allOf, EVENTS_POLL_MS] : [endOf, ENDS_POLL_MS]
  let [changes, tails] = [0, 0]
  let known: string | undefined
  const consumer: Consumer = {
    everyMs,
    take(read) {
      const now = JSON.stringify(show(read.header))
      tails = read.tails
      const hasChanged = known !== undefined && now !== known
      known = now
      if (hasChanged) changes++
      if (hasChanged || of === 'events') wake()
    },
    fail() {
      changes++
      wake()
    },
  }
  const poller = join(lease, key, consumer)
  if (poller.latest !== undefined) {
    known = JSON.stringify(show(poller.latest.header))
    tails = poller.latest.tails
  }
  return {
    async state() {
      await poller.first
      return { changes, tails }
    },
    since(state) {
      if (state.changes !== changes) return 'change'
      return state.tails === tails ? 'nothing' : 'time'
    },
    close: () => void poller.consumers.delete(consumer),
  }
}

function join(lease: HeaderReader, key: SessionKey, consumer: Consumer): Poller {
  const ofLease = pollers.get(lease) ?? new Map<string, Poller>()
  pollers.set(lease, ofLease)
  const name = nameOf(key)
  const known = ofLease.get(name)
  if (known !== undefined) {
    known.consumers.add(consumer)
    return known
  }
  const { promise: first, resolve: hasRead } = Promise.withResolvers<void>()
  const poller: Poller = { consumers: new Set([consumer]), first, latest: undefined }
  ofLease.set(name, poller)
  void pollOn(lease, key, poller, hasRead).finally(() => ofLease.delete(name))
  return poller
}

async function pollOn(lease: HeaderReader, key: SessionKey, poller: Poller, hasRead: () => void): Promise<void> {
  const { consumers } = poller
  for (let count = 0; consumers.size > 0; count++) {
    try {
      poller.latest = { header: await lease.readHeaderEventually(key), tails: Math.floor(count / POLLS_PER_TAIL) }
      for (const consumer of consumers) consumer.take(poller.latest)
    } catch {
      for (const consumer of consumers) consumer.fail()
    }
    hasRead()
    const wait = Math.min(...[...consumers].map(({ everyMs }) => everyMs), ENDS_POLL_MS)
    await new Promise<void>((resolve) => void setTimeout(resolve, wait).unref())
  }
}
