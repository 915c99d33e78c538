import { randomUUID } from 'node:crypto'
import type { Agent } from '../../domain/agent.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { keyOf } from '../../domain/session.ts'
import type { Session, SessionKey } from '../../domain/session.ts'
import type { Logger } from '../../ports/logger.ts'
import type { NewRun, RunInbox } from '../../ports/run-inbox.ts'
import type { RunQueue } from '../../ports/run-queue.ts'
import type { Accepted, Placement } from './agent-service.ts'
import type { SessionWorker } from '../worker/session-worker.ts'

export interface AcceptDependencies {
  readonly agents: ReadonlyMap<string, Agent>
  readonly inbox: RunInbox
  readonly queue: RunQueue
  readonly worker: SessionWorker
  readonly logger: Logger
}

/**
 * Accepts a run durably, then notifies its executor: this process if `placement.here` is true, otherwise a reader of
 * the queue.
 */
export async function acceptRun(
  dependencies: AcceptDependencies,
  session: Session,
  run: NewRun,
  placement: Placement,
): Promise<Accepted> {
  const { inbox, worker } = dependencies
  const key = keyOf(session)
  const accepted = await inbox.enqueue(key, placement.here ? { ...run, startAs: randomUUID() } : run)
  const { runId, repeated, started } = accepted
  if (started !== undefined) {
    const { done, ended } = worker.serveStarted(session, started)
    runInBackground(dependencies, key, done)
    return { runId, repeated, ended }
  }
  // If the run is repeated, the executor is notified again, because the first hint may have been lost.
  await wake(dependencies, key, placement)
  return { runId, repeated }
}

/** Notifies this process's worker, or a reader of the queue, that the session may have work. */
export async function wake(dependencies: AcceptDependencies, key: SessionKey, placement: Placement): Promise<void> {
  if (placement.here) runInBackground(dependencies, key, dependencies.worker.serve(key))
  else await hint(dependencies, key)
}

/**
 * Sends a hint that a session has work. The work is already stored and due. If sending fails, the failure is only
 * logged: an error would make the caller send the input again, and the sweeper finds the work anyway.
 */
export async function hint(
  { queue, logger }: Pick<AcceptDependencies, 'queue' | 'logger'>,
  key: SessionKey,
): Promise<void> {
  try {
    await queue.send(key)
  } catch (error) {
    logger.error('could not send a hint', error, { tenant: key.tenant, session: key.session })
  }
}

/** Logs a failure of work that continues after the caller has its response. The sweeper retries the work. */
export function runInBackground(
  { logger }: Pick<AcceptDependencies, 'logger'>,
  key: SessionKey,
  work: Promise<unknown>,
): void {
  work.catch((error: unknown) => {
    logger.error('serving a session failed', error, { tenant: key.tenant, session: key.session })
  })
}

/** The session's agent. Throws `agent_not_found` if it is no longer configured. */
export function agentOf({ agents }: Pick<AcceptDependencies, 'agents'>, session: Session): Agent {
  const agent = agents.get(session.agent)
  if (agent !== undefined) return agent
  const text = `session ${session.session} uses agent ${session.agent}, which is not configured`
  throw new TooltrailError('agent_not_found', text)
}
