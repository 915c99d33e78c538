import type { SessionKey } from '../../domain/session.ts'
import type { AppDependencies } from '../dependencies.ts'
import { withArguments } from '../v1/runs/resource.ts'
import { createRunSteps } from './run-steps.ts'
import type { Known } from './run-steps.ts'
import type { RunEnd, RunStep } from './run-step.ts'

/** A run to follow, and the part of it that the caller knows. */
export interface FollowedRun extends Known {
  readonly key: SessionKey
  readonly runId: string
}

/** Yields the steps of a run as they happen. Returns how the run ended; undefined if `signal` aborted first. */
export async function* followSteps(
  { service, reader }: AppDependencies,
  { key, runId, after, open }: FollowedRun,
  signal: AbortSignal,
): AsyncGenerator<RunStep, RunEnd | undefined> {
  const steps = createRunSteps({ after, open })
  // Any event id of the message suffices, because a follower resumes at the start of the message's round.
  const from = after === undefined ? {} : { after: `${after}:message.completed` }
  for await (const event of service.follow(key, runId, { signal, ...from })) {
    const waiting = event.type === 'run.paused' ? await withArguments(reader, key, event.waiting ?? []) : []
    yield* steps.take(event, waiting)
  }
  return steps.end()
}
