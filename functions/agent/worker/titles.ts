import type { Run } from '../../domain/runs/run.ts'
import { keyOf } from '../../domain/session.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { LoopDependencies } from '../loop/run-state.ts'

/** Titles requested from models after runs, concurrently with the next runs of their sessions. */
export interface Titles {
  /** Requests a title if the run has completed and its agent's policy names a model. Returns at once. */
  ask(key: SessionKey, run: Run | undefined, signal: AbortSignal): void
  /** The requests in flight; none of them rejects. */
  inFlight(): readonly Promise<void>[]
}

/** Imports the title code on demand, with the first title. */
export function createTitles(dependencies: LoopDependencies): Titles {
  const titles = new Set<Promise<void>>()
  return {
    ask(key, run, signal) {
      const policy = run === undefined ? 'input' : dependencies.agents.get(run.agent)?.policies.titles
      if (run?.status !== 'completed' || policy === undefined || policy === 'input') return
      const titling = import('./title-session.ts')
        .then(({ titleSession }) => titleSession(dependencies, key, run, { name: policy.model, signal }))
        .catch((error: unknown) => dependencies.logger.error('titling a session failed', error, { ...keyOf(key) }))
        .finally(() => titles.delete(titling))
      titles.add(titling)
    },
    inFlight: () => [...titles],
  }
}
