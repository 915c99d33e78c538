import { randomUUID } from 'node:crypto'
import type { Agent } from '../../domain/agent.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { keyOf } from '../../domain/session.ts'
import type { Session, SessionKey } from '../../domain/session.ts'
import type { Logger } from '../../ports/logger.ts'
import type { NewRun, RunInbox } from '../../ports/run-inbox.ts'
import type { RunQueue } from '../../ports/run-queue.ts'
import type { Placement } from './agent-service.ts'
import type { SessionWorker } from '../serving/session-worker.ts'

export interface AcceptDependencies {
  readonly agents: ReadonlyMap<string, Agent>
  readonly inbox: RunInbox
  readonly queue: RunQueue
  readonly worker: SessionWorker
  readonly logger: Logger
}

/** Hands in a run, durably, and sees to it that somebody executes it: this process where `placement` says so. */
export async function acceptRun(
  dependencies: AcceptDependencies,
  session: Session,
  run: NewRun,
  placement: Placement,
): Promise<{ runId: string; repeated: boolean }> {
  const { inbox, worker } = dependencies
  const key = keyOf(session)
  const accepted = await inbox.enqueue(key, placement.here ? { ...run, startAs: randomUUID() } : run)
  if (accepted.started !== undefined) goOn(dependencies, key, worker.serveStarted(session, accepted.started))
  // Also where it was accepted before: the hint of then may be lost.
  else await wake(dependencies, key, placement)
  return { runId: accepted.runId, repeated: accepted.repeated }
}

/** Tells this process's worker, or whoever reads the queue, that the session may have work. */
export async function wake(dependencies: AcceptDependencies, key: SessionKey, placement: Placement): Promise<void> {
  if (placement.here) goOn(dependencies, key, dependencies.worker.serve(key))
  else await hint(dependencies, key)
}

/**
 * Hints that a session has work that is durable and due by now. A hint that cannot be sent is therefore logged and no failure
 * of the caller's, who would hand in the same again: the sweeper finds the work.
 */
export async function hint(
  { queue, logger }: Pick<AcceptDependencies, 'queue' | 'logger'>,
  key: SessionKey,
): Promise<void> {
  try {
    await queue.send(key)
  } catch (error) {
    logger.error('a hint could not be sent', error, { tenant: key.tenant, session: key.session })
  }
}

/** Lets work go on after the caller has its response. Its failure is logged; the sweeper brings the next attempt. */
export function goOn({ logger }: Pick<AcceptDependencies, 'logger'>, key: SessionKey, work: Promise<unknown>): void {
  work.catch((error: unknown) => {
    logger.error('serving a session failed', error, { tenant: key.tenant, session: key.session })
  })
}

/** The session's agent. Throws `agent_not_found` when it is gone. */
export function agentOf({ agents }: Pick<AcceptDependencies, 'agents'>, session: Session): Agent {
  const agent = agents.get(session.agent)
  if (agent !== undefined) return agent
  const text = `session ${session.session} uses agent ${session.agent}, which is not configured`
  throw new TooltrailError('agent_not_found', text)
}
