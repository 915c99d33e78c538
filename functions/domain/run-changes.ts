import { TooltrailError } from './errors.ts'
import { STATUS_TEXT } from './message.ts'
import type { ToolMessage, UserMessage } from './message.ts'
import type { Run } from './run.ts'
import { NO_USAGE } from './usage.ts'

type Asked = Pick<Run, 'agent' | 'trigger' | 'onBusy' | 'input' | 'clientTools' | 'keyId'>

/** The queued run that an input or a `continue` makes when it is accepted. */
export function acceptedRun(
  { agent, trigger, onBusy, clientTools, input, keyId }: Asked,
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
    ...(input === undefined ? {} : { input }),
    ...(keyId === undefined ? {} : { keyId }),
    createdAt: now,
    rounds: 0,
    usage: NO_USAGE,
    usageByAgent: {},
  }
}

/** A queued run at its start: from now on its input is a message of the log. */
export function startedRun({ input: _, ...queued }: Run, now: number): Run {
  return { ...queued, status: 'running', startedAt: now }
}

/** The message of `into` that a queued run's input becomes; undefined for a run without input. */
export function messageOfInput(
  { input }: Pick<Run, 'input'>,
  into: Pick<Run, 'id' | 'agent' | 'rounds'>,
  id: string,
  now: number,
): UserMessage | undefined {
  if (input === undefined) return undefined
  return { ...input, id, runId: into.id, agent: into.agent, role: 'user', round: into.rounds, createdAt: now }
}

/** Refuses a run beyond its key's cap, of which `active` are queued, running or paused. */
export function requireRoom(active: number, cap: number): void {
  if (active < cap) return
  throw new TooltrailError(
    'too_many_active_runs',
    `this key may have ${cap === 1 ? '1 run' : `${cap} runs`} queued, running or paused at a time: wait until one has ended, or cancel one`,
    { retryable: true },
  )
}

/** A call that was begun and did not come to a result: nobody knows whether it ran. */
export const interruptedCall = (call: ToolMessage, now: number): ToolMessage => ({
  ...call,
  status: 'interrupted',
  parts: [{ type: 'text', text: STATUS_TEXT.interrupted }],
  completedAt: now,
})

/** What becomes of an open call when its run ends: one that was begun may have run, whatever ended the run. */
export function callAtEnd(call: ToolMessage, now: number): ToolMessage {
  if (call.status === 'running') return interruptedCall(call, now)
  return { ...call, status: 'cancelled', parts: [{ type: 'text', text: STATUS_TEXT.cancelled }], completedAt: now }
}
