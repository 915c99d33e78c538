import { decidedSettings } from '../../domain/runs/decided-settings.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { UserMessage, UserPart } from '../../domain/messages/message.ts'
import type { Run, RunInput } from '../../domain/runs/run.ts'
import { isFree, keyOf } from '../../domain/session.ts'
import type { Session, SessionKey } from '../../domain/session.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { NewRun } from '../../ports/run-inbox.ts'
import type { FollowDependencies } from '../events/follow-run.ts'
import { untilSettled } from '../events/until-settled.ts'
import { acceptRun, agentOf, wake } from './accept-run.ts'
import type { AcceptDependencies } from './accept-run.ts'
import type { Accepted, Placement, Submission } from './agent-service.ts'
import { keepingMedia, storeInput } from './incoming.ts'

/** Longest wait for the end of a run whose cancel is requested. */
const CANCEL_TIMEOUT_MS = 5_000
/** Messages per read of a run's inputs. Most inputs of a run are tasks of members. */
const PAGE = 100

type Dependencies = AcceptDependencies & FollowDependencies & Parameters<typeof storeInput>[0]

/** Accepts an input that replaces a run. */
export async function submitReplacement(
  dependencies: Dependencies,
  session: Session,
  { parts, user, metadata, settings, ...rest }: Submission,
  placement: Placement,
): Promise<Accepted> {
  const { reader } = dependencies
  const key = keyOf(session)
  const replaces = await requireRun(reader, key, rest.replaces ?? '')
  const former = parts === undefined ? await inputOf(reader, key, replaces) : undefined
  if (parts === undefined && former === undefined)
    throw new TooltrailError('nothing_to_send', `run ${replaces.id} had no input that could be sent again`)
  const stored = parts === undefined ? [] : await storeInput(dependencies, session, parts)
  const input: RunInput = {
    parts: former?.parts ?? stored,
    ...definedFields({ user: user ?? former?.user ?? session.user, metadata: metadata ?? former?.metadata }),
  }
  const decided = definedFields({ settings: decidedSettings(agentOf(dependencies, session).policies, settings ?? {}) })
  const asked = {
    ...rest,
    ...decided,
    replaces: replaces.id,
    agent: session.agent,
    trigger: 'input',
    onBusy: 'reject',
  } as const
  // The media of the replaced run's input stay, even if the new input is rejected.
  return keepingMedia(dependencies, session, stored, () =>
    afterCancelled(dependencies, session, { ...asked, input }, placement),
  )
}

/** Returns the run, or the run that it was merged into. */
async function requireRun(reader: LogReader, key: SessionKey, id: string): Promise<Run> {
  const named = await reader.run(key, id)
  const run = named?.mergedInto === undefined ? named : await reader.run(key, named.mergedInto)
  if (run !== undefined) return run
  throw new TooltrailError('run_not_found', `session ${key.session} has no run ${id}`)
}

/**
 * Returns the input of a run, followed by the parts of the inputs that steered the run, in order. Undefined for a run that
 * began without an input.
 */
async function inputOf(reader: LogReader, key: SessionKey, run: Run): Promise<RunInput | undefined> {
  // A run that was cancelled in the queue still has its input.
  if (run.input !== undefined) return run.input
  if (run.trigger === 'continue') return undefined
  const [first, ...steered] = await inputsOf(reader, key, run.id)
  if (first === undefined) return undefined
  const parts: UserPart[] = [first, ...steered].flatMap((message) => message.parts)
  return { parts, ...definedFields({ user: first.user, metadata: first.metadata }) }
}

async function inputsOf(reader: LogReader, key: SessionKey, run: string): Promise<UserMessage[]> {
  const found: UserMessage[] = []
  for (let after: string | undefined; ;) {
    const query = { run, roles: ['user'], order: 'ascending', limit: PAGE, ...definedFields({ after }) } as const
    const { messages, more } = await reader.messages(key, query)
    found.push(...messages.filter((message) => message.role === 'user').filter(isLeaders))
    after = messages.at(-1)?.id
    if (!more || after === undefined) return found
  }
}

/** Accepts the run. If the active run's cancel is requested, waits for its end, and tries again. */
async function afterCancelled(
  dependencies: Dependencies,
  session: Session,
  run: NewRun,
  placement: Placement,
): Promise<Accepted> {
  try {
    return await acceptRun(dependencies, session, run, placement)
  } catch (error) {
    if (!(error instanceof TooltrailError) || error.code !== 'session_busy') throw error
    if (!(await hasCancelEnded(dependencies, keyOf(session)))) throw error
    return acceptRun(dependencies, session, run, placement)
  }
}

/** Waits for the end of the active run if its cancel is requested. Returns whether it has ended. */
async function hasCancelEnded(dependencies: Dependencies, key: SessionKey): Promise<boolean> {
  const { lease, clock } = dependencies
  const header = await lease.readHeader(key)
  // The run may have ended since the refusal.
  if (header?.activeRun === undefined) return true
  if (header.cancel?.run !== header.activeRun) return false
  if (isFree(header, clock.now())) await wake(dependencies, key, { here: true })
  await untilSettled(dependencies, key, header.activeRun, AbortSignal.timeout(CANCEL_TIMEOUT_MS))
  return (await lease.readHeader(key))?.activeRun !== header.activeRun
}
