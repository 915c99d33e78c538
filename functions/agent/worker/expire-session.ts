import type { SessionKey } from '../../domain/session.ts'
import type { RunQueue } from '../../ports/run-queue.ts'
import type { SessionDeletion } from '../../ports/session-deletion.ts'

interface Dependencies {
  readonly deletion: Pick<SessionDeletion, 'tombstone'>
  readonly queue: Pick<RunQueue, 'send'>
}

/**
 * Begins the deletion of a session whose expiry the store has removed, unless it was used since, and hints at the rest
 * of the work. If the hint is lost, the sweeper finds it.
 */
export async function expireSession({ deletion, queue }: Dependencies, key: SessionKey): Promise<void> {
  if (await deletion.tombstone(key, { ifExpired: true })) await queue.send(key)
}
