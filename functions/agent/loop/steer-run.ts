import type { SessionHeader } from '../../domain/session.ts'
import type { LoopDependencies } from './loop-dependencies.ts'
import { allocate, remember } from './run-state.ts'
import type { RunState } from './run-state.ts'

/** Makes queued steering inputs user messages of the running run, between two rounds and in their order. */
export async function steerRun(
  { log, reader, clock }: LoopDependencies,
  state: RunState,
  header: SessionHeader,
): Promise<void> {
  if (header.queued === 0) return
  await state.writer.settled()
  for (const queued of await reader.queued(state.held.lease)) {
    if (queued.onBusy !== 'steer') continue
    const [id] = allocate(state, clock.now(), 1)
    const message = id === undefined ? undefined : await log.steer(state.held.lease, queued.id, id)
    if (message !== undefined) remember(state, [message])
  }
}
