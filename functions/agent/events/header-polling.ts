import type { SessionHeader, SessionKey } from '../../domain/session.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import { nameOf } from './event-bus.ts'

/** Milliseconds between two glances at a session of which every event is shown. */
const OFTEN_MS = 450
/** The same where somebody waits for an end alone. */
const SELDOM_MS = 950

/** Every so many glances, what a header says nothing of is looked for, too. */
const TAIL = 2

interface Moment {
  readonly changes: number
  readonly tails: number
}

/** What one consumer sees of a session's header as time passes. */
export interface HeaderPoll {
  /** The moment of the last glance. What is read of the log afterwards is as new as that, or newer. */
  seen(): Promise<Moment>
  /** What has come since: a change, or time in which something may have changed of which a header says nothing. */
  since(moment: Moment): 'change' | 'time' | 'nothing'
  close(): void
}

interface Consumer {
  readonly everyMs: number
  take(glance: Seen): void
  fail(): void
}

interface Seen {
  readonly header: SessionHeader | undefined
  readonly tails: number
}

interface Poller {
  readonly consumers: Set<Consumer>
  readonly first: Promise<void>
  latest: Seen | undefined
}

/** Who glances at which session, so that all of a process's consumers share it. */
const pollers = new WeakMap<HeaderReader, Map<string, Poller>>()

type HeaderReader = Pick<RunLease, 'readHeaderEventually'>

/** Everything of a header that an event tells of: not the lease's end, which moves by itself. */
const allOf = (header: SessionHeader | undefined): unknown[] => [endOf(header), header?.head, header?.waiting]

/** What moves when a run begins, ends or pauses: whoever lets a lease go raises the generation. */
function endOf(header: SessionHeader | undefined): unknown[] {
  if (header === undefined) return []
  const { status, generation, activeRun, waiting, queued, cancel } = header
  return [status, generation, activeRun, waiting > 0, queued, cancel?.run]
}

/**
 * Glances at a session for as long as it is not closed: at all that events tell of, or for the ends of runs alone. Calls back at
 * every change, when a glance fails, which reading the log will explain, and with `events` at every glance: all consumers of a
 * session at the same time.
 */
export function pollHeader(
  lease: HeaderReader,
  key: SessionKey,
  { of, wake }: { readonly of: 'events' | 'ends'; readonly wake: () => void },
): HeaderPoll {
  const [show, everyMs] = of === 'events' ? [allOf, OFTEN_MS] : [endOf, SELDOM_MS]
  let [changes, tails] = [0, 0]
  let known: string | undefined
  const consumer: Consumer = {
    everyMs,
    take(glance) {
      const now = JSON.stringify(show(glance.header))
      tails = glance.tails
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
    async seen() {
      await poller.first
      return { changes, tails }
    },
    since(moment) {
      if (moment.changes !== changes) return 'change'
      return moment.tails === tails ? 'nothing' : 'time'
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
      poller.latest = { header: await lease.readHeaderEventually(key), tails: Math.floor(count / TAIL) }
      for (const consumer of consumers) consumer.take(poller.latest)
    } catch {
      for (const consumer of consumers) consumer.fail()
    }
    hasRead()
    const wait = Math.min(...[...consumers].map(({ everyMs }) => everyMs), SELDOM_MS)
    await new Promise<void>((resolve) => void setTimeout(resolve, wait).unref())
  }
}
