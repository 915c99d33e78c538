import type { SessionKey } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { RunQueue } from '../../ports/run-queue.ts'
import type { SessionDeletion } from '../../ports/session-deletion.ts'
import { continueDeletion } from './delete-session.ts'
import { inTime } from '../../ports/time-limited.ts'
import type { SessionWorker } from './session-worker.ts'

interface Dependencies {
  readonly worker: Pick<SessionWorker, 'serve'>
  readonly deletion: SessionDeletion
  readonly outputs: OutputStore
  readonly clock: Clock
}

/**
 * Does the work that a hint names. If the session is being deleted, continues the deletion until `deadline`
 * (milliseconds since 1970). Otherwise executes the session's runs. The last step of a deletion must wait for late
 * writers, so the sweeper does that step.
 */
export async function serveHint(ports: Dependencies, key: SessionKey, deadline: number): Promise<void> {
  const dependencies = inTime(ports)
  const state = await dependencies.deletion.state(key)
  if (state === undefined) await dependencies.worker.serve(key)
  else if (!state.removed) await continueDeletion(dependencies, key, deadline)
}

/**
 * Starts the deletion of a session whose expiry entry the store has removed, unless the session was used since. Sends a
 * hint for the remaining work. If the hint is lost, the sweeper finds the work.
 */
export async function expireSession(
  {
    deletion,
    queue,
  }: { readonly deletion: Pick<SessionDeletion, 'tombstone'>; readonly queue: Pick<RunQueue, 'send'> },
  key: SessionKey,
): Promise<void> {
  if (await deletion.tombstone(key, { ifExpired: true })) await queue.send(key)
}
