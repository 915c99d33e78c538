import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { Clock } from '../../ports/clock.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import type { DeletionState, SessionDeletion } from '../../ports/session-deletion.ts'

/** Rows removed per step. Limits how long a step occupies the store. */
const ROWS_A_STEP = 500

interface Dependencies {
  readonly deletion: SessionDeletion
  readonly outputs: OutputStore
  readonly clock: Clock
}

/**
 * Continues the deletion of a tombstoned session from where it stopped, until it is finished or `deadline`
 * (milliseconds since 1970) has passed. Safe to run concurrently. The objects are removed a second time when no late
 * writer can exist any more.
 */
export async function continueDeletion(
  { deletion, outputs, clock }: Dependencies,
  key: SessionKey,
  deadline: number,
): Promise<DeletionState> {
  const state = await stateOf(deletion, key)
  if (state.removed) {
    await outputs.removeAll(key)
    await deletion.finish(key)
    return state
  }
  for (let more = true; more;) {
    if (clock.now() > deadline) return stateOf(deletion, key)
    more = (await deletion.removeRows(key, ROWS_A_STEP)).more
    // An embedded store never yields to the event loop, so this loop yields for other requests.
    await yieldToEventLoop()
  }
  await deletion.markRemoved(key, await outputs.removeAll(key))
  return stateOf(deletion, key)
}

async function stateOf(deletion: SessionDeletion, key: SessionKey): Promise<DeletionState> {
  const state = await deletion.state(key)
  if (state === undefined) throw new TooltrailError('session_not_found', `there is no session ${key.session}`)
  return state
}
