import type { SessionKey } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { RunLease } from '../../ports/run-lease.ts'
import type { RunQueue } from '../../ports/run-queue.ts'
import type { SessionDeletion } from '../../ports/session-deletion.ts'
import type { SessionJanitor } from '../../ports/session-janitor.ts'
import { continueDeletion } from './delete-session.ts'

/** Sessions that one sweep looks after at the most; the next one goes on. */
const SWEPT_AT_ONCE = 100
/** Milliseconds that one sweep spends on one deletion. */
const DELETION_MS = 20_000
/** A deletion that became due less than so many milliseconds ago is left to whoever has begun it, and counts what is removed. */
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
 * Finds what lost hints and dead processes left: due sessions get a hint, tombstones are worked off, expired sessions are
 * deleted. One session's failure is logged and does not keep the others waiting. What is left at `deadline` (milliseconds
 * since 1970) is found by the next sweep.
 */
export async function sweep(dependencies: Dependencies, deadline = Infinity): Promise<void> {
  const { janitor, lease, deletion, queue, clock, logger } = dependencies
  const each = async (keys: readonly SessionKey[], work: (key: SessionKey) => Promise<unknown>): Promise<void> => {
    for (const key of keys) {
      if (clock.now() > deadline) return
      try {
        await work(key)
      } catch (error) {
        logger.error('sweeping a session failed', error, { tenant: key.tenant, session: key.session })
      }
    }
  }
  const goOn = (key: SessionKey) => continueDeletion(dependencies, key, Math.min(deadline, clock.now() + DELETION_MS))
  await each(await janitor.expired(clock.now(), SWEPT_AT_ONCE), async (key) => {
    if (await deletion.tombstone(key, { ifExpired: true })) await goOn(key)
  })
  await each(await janitor.due(clock.now(), SWEPT_AT_ONCE), async (key) => {
    const header = await lease.look(key)
    if (header?.status !== 'deleted') await queue.send(key)
    else if (clock.now() - (header.due ?? 0) >= BEGUN_MS) await goOn(key)
  })
}

/** Sweeps again and again until stopped; `stop` resolves when the sweep under way has ended. */
export function startSweeper(dependencies: Dependencies, everyMs: number): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const done = (async () => {
    while (!stopping.signal.aborted) {
      try {
        await sweep(dependencies)
        await dependencies.clock.sleep(everyMs, stopping.signal)
      } catch (error) {
        if (stopping.signal.aborted) return
        dependencies.logger.error('a sweep failed', error)
        await dependencies.clock.sleep(everyMs)
      }
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await done
    },
  }
}
