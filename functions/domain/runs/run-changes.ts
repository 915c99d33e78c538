import type { SessionContext } from '../context.ts'
import { definedFields } from '../defined-fields.ts'
import type { NewDelivery } from '../delivery.ts'
import { TooltrailError } from '../errors.ts'
import { isLeaders, STATUS_TEXT } from '../messages/message.ts'
import type { AssistantMessage, ToolMessage, ToolStatus, UserMessage } from '../messages/message.ts'
import { isDelegation } from './team.ts'
import type { EventPosition } from './event-position.ts'
import type { RunSettings } from './request-settings.ts'
import type { ClientTool, Run, RunCounts, RunError, RunNotice, RunOutcome, StopReason } from './run.ts'
import { addUsage, joinUsages, NO_USAGE } from '../usage/usage.ts'

type Asked = Pick<
  Run,
  'agent' | 'trigger' | 'onBusy' | 'input' | 'clientTools' | 'instructions' | 'settings' | 'keyId'
> & {
  readonly delivery?: NewDelivery
}

/** Builds the queued run for an accepted input or `continue`. */
export function acceptedRun(
  { agent, trigger, onBusy, clientTools, instructions, settings, input, keyId, delivery }: Asked,
  id: string,
  now: number,
): Run {
  return {
    id,
    agent,
    status: 'queued',
    trigger,
    onBusy,
    clientTools,
    ...definedFields({ instructions, settings }),
    ...definedFields({ input, keyId }),
    ...(delivery === undefined ? {} : { delivery: delivery.kind }),
    createdAt: now,
    rounds: 0,
    usage: NO_USAGE,
    usageByAgent: {},
  }
}

/**
 * The tools, instructions and settings of a request that continues a run with tool results. An absent field keeps the value of
 * the run. `instructions: null` removes the run's instructions, so that the session's instructions apply. `settings: null`
 * removes the run's settings.
 */
export interface NewestRequest {
  readonly clientTools?: readonly ClientTool[] | undefined
  readonly instructions?: string | null | undefined
  readonly settings?: RunSettings | null | undefined
}

/**
 * Replaces the run's tools, instructions and settings by those of its newest request. A tool choice in the request holds for
 * the run's next round. Returns `run` itself if nothing changes.
 */
export function withNewestRequest(
  run: Run,
  { clientTools = run.clientTools, instructions: newest, settings: newestSettings }: NewestRequest,
): Run {
  const { instructions: before, settings: settingsBefore, ...rest } = run
  const instructions = newest === undefined ? before : (newest ?? undefined)
  const settings = newestSettings === undefined ? settingsBefore : fromRound(newestSettings, run.rounds)
  const isEqual = instructions === before && isSame(clientTools, run.clientTools) && isSame(settings, settingsBefore)
  return isEqual ? run : { ...rest, clientTools, ...definedFields({ instructions, settings }) }
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

const fromRound = (settings: RunSettings | null, round: number): RunSettings | undefined =>
  settings?.toolChoice === undefined ? (settings ?? undefined) : { ...settings, choiceRound: round }

/** Starts a run for the holder of this generation. Removes the run's input, because it becomes a message of the log. */
export function startedRun({ input: _, ...queued }: Run, now: number, startGeneration: number): Run {
  return { ...queued, status: 'running', startedAt: now, startGeneration }
}

/**
 * Starts a run from the queue. Its start is always later than its creation, even if a clock was set back. The
 * difference shows that the run was queued.
 */
export const dequeuedRun = (queued: Run, now: number, startGeneration: number): Run =>
  startedRun(queued, Math.max(now, queued.createdAt + 1), startGeneration)

/** Turns a queued run's input into a message of `into`. Returns undefined for a run without input. */
export function messageOfInput(
  { input }: Pick<Run, 'input'>,
  into: Pick<Run, 'id' | 'agent' | 'rounds'>,
  id: string,
  now: number,
): UserMessage | undefined {
  if (input === undefined) return undefined
  return { ...input, id, runId: into.id, agent: into.agent, role: 'user', round: into.rounds, createdAt: now }
}

/** Adds a completion to a run, or to a session's totals. A leader's completion is a round. */
export function withCompletion<Counted extends Pick<Run, 'rounds' | 'usage' | 'usageByAgent'>>(
  before: Counted,
  message: AssistantMessage,
): Counted {
  const { agent, usage = NO_USAGE } = message
  return {
    ...before,
    rounds: before.rounds + (isLeaders(message) ? 1 : 0),
    usage: addUsage(before.usage, usage),
    usageByAgent: joinUsages(before.usageByAgent, { [agent]: usage }),
  }
}

/** Pauses a run that waits for a client or an approval. `calls`: the waiting calls, in the order of the log. */
export function pausedRun(
  run: Run,
  calls: readonly ToolMessage[],
  head: string | undefined,
  generation: number | undefined,
): Run {
  const [first] = calls
  const asked = first?.assistantMessageId ?? run.id
  const notice = { type: 'run.paused', after: head ?? '', asked, calls: calls.map(({ id }) => id) } as const
  const paused = { ...notice, counts: countsOf(run), ...definedFields({ generation }) }
  return { ...run, status: 'paused', notices: [...(run.notices ?? []), paused] }
}

/**
 * Resumes a run for the holder of this generation. Adds no `run.resumed` notice if the last resumption has one and the
 * run has no message since then.
 */
export function resumedRun(run: Run, head: string | undefined, generation: number): Run {
  const { notices = [] } = run
  const after = head ?? ''
  const last = notices.findLast(({ type }) => type === 'run.paused' || type === 'run.resumed')
  if (last?.type === 'run.resumed' && last.after === after) return { ...run, status: 'running' }
  const resumed = { type: 'run.resumed', after, counts: countsOf(run), generation } as const
  return { ...run, status: 'running', notices: [...notices, resumed] }
}

const countsOf = ({ rounds, usage, usageByAgent }: Run): RunCounts => ({ rounds, usage, usageByAgent })

/** The end of a run. */
export interface RunEnd {
  readonly outcome: RunOutcome
  readonly stopReason: StopReason
  readonly error?: RunError
  /**
   * The final completion, the text streamed before a failure or cancel, or the error. The message's id is greater than
   * the log's last id.
   */
  readonly message?: AssistantMessage
  /** The JSON text of the final completion, if the run has a format and the text fits it. */
  readonly output?: string
  /** Warnings about the final completion. */
  readonly notices?: readonly RunNotice[]
  /** The context for the session's requests from now on. Undefined: it stays unchanged. */
  readonly context?: SessionContext
}

/** Ends a running run. */
export function endedRun(run: Run, end: RunEnd, now: number): Run {
  const { message, outcome, stopReason, error, output, notices: last = [] } = end
  const counted = message === undefined ? run : withCompletion(run, message)
  const notices = last.length === 0 ? run.notices : [...(run.notices ?? []), ...last]
  return { ...counted, ...definedFields({ error, output, notices }), status: outcome, stopReason, endedAt: now }
}

/** Throws if a new run exceeds its key's cap. `active`: the key's runs that are queued, running or paused. */
export function assertCapacity(active: number, cap: number): void {
  if (active < cap) return
  throw new TooltrailError(
    'too_many_active_runs',
    `this key may have ${cap === 1 ? '1 run' : `${cap} runs`} queued, running or paused at a time: wait until one has ended, or cancel one`,
    { retryable: true },
  )
}

/** Closes a call that was started and has no result: whether its tool was executed is unknown. */
export const interruptedCall = (call: ToolMessage, now: number, position?: EventPosition): ToolMessage => ({
  ...call,
  status: 'interrupted',
  parts: [{ type: 'text', text: STATUS_TEXT.interrupted }],
  completedAt: now,
  ...definedFields({ position }),
})

/** The statuses that `callAtEnd` sets. */
export const CLOSED_AT_END: readonly ToolStatus[] = ['interrupted', 'cancelled']

/**
 * Closes an open call when its run ends. A started call is `interrupted`, because its tool may have been executed. A
 * delegate call is `cancelled`, because the member's work is in the log.
 */
export function callAtEnd(call: ToolMessage, now: number): ToolMessage {
  if (call.status === 'running' && !isDelegation(call)) return interruptedCall(call, now)
  return { ...call, status: 'cancelled', parts: [{ type: 'text', text: STATUS_TEXT.cancelled }], completedAt: now }
}
