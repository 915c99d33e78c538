import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import type { RunQueue } from '../../ports/run-queue.ts'
import type { SessionDeletion } from '../../ports/session-deletion.ts'
import type { DueSession, SessionJanitor } from '../../ports/session-janitor.ts'
import { repeatEvery, type Repetition } from '../../ports/repeat-every.ts'
import { continueDeletion } from './delete-session.ts'
import { inTime } from '../../ports/time-limited.ts'

/** Maximum number of due sessions in one page. */
const PAGE = 500
/** Number of sessions served concurrently. At 30 ms a session, 10,000 sessions take half a minute. */
const AT_ONCE = 10
/** Number of sessions of an earlier version that one write migrates. Such a write takes about 10 ms on SQLite. */
const ADOPTED_AT_ONCE = 25
/** Delay before a visited session is visited again. Sessions that were not visited yet come first. */
const POSTPONED_MS = 10_000
/** Delay before a failed deletion is tried again. */
const FAILED_DELETION_MS = 300_000
/**
 * In a sweep without a deadline: the time for each kind of work that follows the hints (deletions and migrations).
 * The time is short, because the hints of the next sweep must not wait longer.
 */
const SHARE_MS = 10_000
/**
 * Time after which the sweeper takes over a deletion. Until then, the process that started the deletion continues it
 * and counts the removed rows.
 */
const BEGUN_MS = 2_000

interface Dependencies {
  readonly janitor: SessionJanitor
  readonly lease: RunLease
  readonly deletion: SessionDeletion
  readonly outputs: OutputStore
  readonly queue: RunQueue
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * Finds work that remains, for example because a hint was lost or a process crashed. Sends hints for due sessions,
 * continues deletions, deletes expired sessions, and migrates sessions of an earlier version, in this order. Each kind
 * of work gets a share of the time. A served session is postponed behind those not served yet. The next sweep does the
 * work that remains at `deadline` (milliseconds since 1970).
 */
export async function sweep(ports: Dependencies, deadline = Infinity): Promise<void> {
  const dependencies = inTime(ports)
  const tombstones = await hintAll(dependencies, deadline)
  await deleteAll(dependencies, tombstones, shareOf(dependencies.clock, deadline))
  await expireAll(dependencies, shareOf(dependencies.clock, deadline))
  await adoptAll(dependencies, shareOf(dependencies.clock, deadline))
}

/** Migrates sessions of an earlier version, a few at a time, because an embedded store blocks the thread. */
async function adoptAll({ janitor, clock, logger }: Dependencies, deadline: number): Promise<void> {
  try {
    while (clock.now() < deadline && (await janitor.adopt(ADOPTED_AT_ONCE))) await yieldToEventLoop()
  } catch (error) {
    logger.error('a session of an earlier version could not be brought up to date', error)
  }
}

/**
 * Returns the deadline for the next kind of work. It gets half of the remaining time, or `SHARE_MS` if the sweep has no
 * deadline.
 */
const shareOf = (clock: Clock, deadline: number): number =>
  clock.now() + (deadline === Infinity ? SHARE_MS : (deadline - clock.now()) / 2)

/**
 * Sends hints for all due sessions, page after page. Returns the tombstones among them whose deletion has stalled.
 * These are postponed too: otherwise a first page full of deletions would hide all later sessions.
 */
async function hintAll(dependencies: Dependencies, deadline: number): Promise<DueSession[]> {
  const { janitor, lease, queue, clock } = dependencies
  const tombstones: DueSession[] = []
  const again = (): number => clock.now() + POSTPONED_MS
  const pages = unseenPages(
    (limit) => janitor.due(clock.now(), limit),
    ({ key }) => key,
  )
  for await (const page of pages) {
    await each(dependencies, page, deadline, again, async (session) => {
      const header = await lease.readHeader(session.key)
      if (header?.status !== 'deleted') await queue.send(session.key)
      else if (clock.now() - session.due < BEGUN_MS) return
      const due = again()
      const isPostponed = await janitor.postpone(session, due)
      if (header?.status === 'deleted' && isPostponed) tombstones.push({ ...session, due })
    })
    if (clock.now() > deadline) break
  }
  return tombstones
}

/** Continues deletions. A deletion that fails or takes too long is postponed behind the others. */
async function deleteAll(
  dependencies: Dependencies,
  tombstones: readonly DueSession[],
  deadline: number,
): Promise<void> {
  const { janitor, clock } = dependencies
  for (const session of tombstones)
    await each(
      dependencies,
      [session],
      deadline,
      () => clock.now() + FAILED_DELETION_MS,
      async () => {
        const { removed } = await continueDeletion(dependencies, session.key, deadline)
        if (!removed) await janitor.postpone(session, clock.now())
      },
    )
}

/** Deletes expired sessions. An unfinished deletion becomes due for later sweeps. */
async function expireAll(dependencies: Dependencies, deadline: number): Promise<void> {
  const { janitor, deletion, clock } = dependencies
  for await (const page of unseenPages(
    (limit) => janitor.expired(clock.now(), limit),
    (key) => key,
  ))
    for (const key of page) {
      if (clock.now() > deadline) return
      try {
        if (await deletion.tombstone(key, { ifExpired: true })) await continueDeletion(dependencies, key, deadline)
      } catch (error) {
        report(dependencies, key, error)
      }
    }
}

/**
 * Yields pages of the sessions that `read` finds. Each session is yielded once. Ends when a page is not full or has no
 * new session.
 */
async function* unseenPages<Found>(
  read: (limit: number) => Promise<readonly Found[]>,
  keyOf: (found: Found) => SessionKey,
): AsyncGenerator<readonly Found[]> {
  const seen = new Set<string>()
  for (let full = true; full;) {
    const page = await read(PAGE)
    full = page.length >= PAGE
    const unseen = page.filter((found) => !seen.has(nameOf(keyOf(found))))
    if (unseen.length === 0) return
    for (const found of unseen) seen.add(nameOf(keyOf(found)))
    yield unseen
  }
}

/**
 * Does `work` for each session, several concurrently, until the deadline. If the work for a session fails, logs the
 * error and postpones the session until `again`, so that it does not delay the others.
 */
async function each(
  dependencies: Dependencies,
  sessions: readonly DueSession[],
  deadline: number,
  again: () => number,
  work: (session: DueSession) => Promise<unknown>,
): Promise<void> {
  const { janitor, clock } = dependencies
  const queue = sessions.values()
  const worker = async (): Promise<void> => {
    for (const session of queue) {
      if (clock.now() > deadline) return
      try {
        await work(session)
      } catch (error) {
        report(dependencies, session.key, error)
        await janitor.postpone(session, again()).catch((failed: unknown) => report(dependencies, session.key, failed))
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, sessions.length) }, worker))
}

const nameOf = ({ tenant, session }: SessionKey): string => `${tenant}/${session}`

function report({ logger }: Dependencies, { tenant, session }: SessionKey, error: unknown): void {
  logger.error('sweeping a session failed', error, { tenant, session })
}

/** Sweeps repeatedly until stopped. */
export const startSweeper = (dependencies: Dependencies, everyMs: number): Repetition =>
  repeatEvery(
    dependencies.clock,
    everyMs,
    () => sweep(dependencies),
    (error) => dependencies.logger.error('a sweep failed', error),
  )
