import { supersededBy } from '../../../domain/runs/replacement.ts'
import type { z } from '@hono/zod-openapi'
import { TooltrailError } from '../../../domain/errors.ts'
import { isLeaders, MAX_ROUND_CALLS } from '../../../domain/messages/message.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import { isEnded } from '../../../domain/runs/run.ts'
import type { Run } from '../../../domain/runs/run.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { Json } from '../../../domain/json.ts'
import { readJson } from '../../../log/json/exact-json.ts'
import { parentFields } from '../messages/resource.ts'
import type { RunSchema } from './schema.ts'
import { timeText } from '../time-text.ts'
import { findArguments } from '../messages/call-arguments.ts'
import { mediaFields } from '../messages/resource.ts'
import { usageResource } from '../usage/resource.ts'

export type RunResource = z.input<typeof RunSchema>

/**
 * Maximum number of merges that are followed from one run to the next. A steering input can be merged into a run that
 * was itself merged. Real chains are far shorter.
 */
const MAX_MERGES = 8

/** A run and its calls that wait for a result or a decision. */
export interface RunView {
  readonly run: Run
  readonly waiting: readonly WaitingCall[]
  readonly supersededBy?: string | undefined
}
export interface WaitingCall {
  readonly message: ToolMessage
  /** The raw arguments as the model sent them. */
  readonly arguments: string
}

/** Finds the run; for a merged run, the run that it was merged into. */
export async function findRun(reader: LogReader, key: SessionKey, id: string): Promise<Run | undefined> {
  let run = await reader.run(key, id)
  for (let step = 0; run?.mergedInto !== undefined && step < MAX_MERGES; step++)
    run = await reader.run(key, run.mergedInto)
  return run
}

/** Reads the run with its waiting calls; undefined if the run does not exist. */
export async function viewRun(reader: LogReader, key: SessionKey, id: string): Promise<RunView | undefined> {
  const run = await findRun(reader, key, id)
  if (run === undefined) return undefined
  // Only an ended run can be replaced.
  if (isEnded(run.status))
    return { run, waiting: [], supersededBy: supersededBy(await reader.replacements(key), run.id) }
  return { run, waiting: await waitingCalls(reader, key, run) }
}

/** Reads the run with its waiting calls. Rejects with `run_not_found` if the run does not exist. */
export async function requireRun(reader: LogReader, key: SessionKey, id: string): Promise<RunView> {
  const view = await viewRun(reader, key, id)
  if (view === undefined) throw new TooltrailError('run_not_found', `session ${key.session} has no run ${id}`)
  return view
}

/**
 * Reads the open calls of an active run that wait for a client's result or an approval, in the order in which the model
 * made them.
 */
export async function waitingCalls(reader: LogReader, key: SessionKey, run: Run): Promise<WaitingCall[]> {
  if (isEnded(run.status) || run.status === 'queued') return []
  return withArguments(reader, key, await waitingRows(reader, key, run))
}

/** Reads the waiting calls of the leader and its members. All of them are stored after the leader's last completion. */
async function waitingRows(reader: LogReader, key: SessionKey, run: Run): Promise<ToolMessage[]> {
  const waiting: ToolMessage[] = []
  for (let before: string | undefined; ;) {
    const query = { run: run.id, roles: ['tool', 'assistant'], order: 'descending', limit: MAX_ROUND_CALLS } as const
    const { messages, more } = await reader.messages(key, before === undefined ? query : { ...query, before })
    for (const one of messages) {
      if (one.role === 'assistant' && isLeaders(one)) return waiting
      if (one.role === 'tool' && one.status === 'waiting') waiting.unshift(one)
    }
    before = messages.at(-1)?.id
    if (!more || before === undefined) return waiting
  }
}

/** Adds the arguments to calls, from their assistant messages. */
export async function withArguments(
  reader: LogReader,
  key: SessionKey,
  calls: readonly ToolMessage[],
): Promise<WaitingCall[]> {
  const argumentsOf = findArguments(reader, key)
  return Promise.all(calls.map(async (message) => ({ message, arguments: await argumentsOf(message) })))
}

/** Whether the run has ended, or waits for a client's result or an approval. */
export const isSettled = ({ run, waiting }: RunView): boolean =>
  isEnded(run.status) || (run.status === 'paused' && waiting.length > 0)

/**
 * A run as the API shows it. It includes the input until the input becomes a message. `id`: the requested id, which is
 * shown even if the requested run was merged into `run`.
 */
export function runResource(
  session: string,
  { run, waiting, supersededBy: by }: RunView,
  id: string = run.id,
): RunResource {
  const entries = Object.entries(run.usageByAgent).map(([agent, sum]) => [agent, usageResource(sum)] as const)
  const byAgent = Object.fromEntries(entries)
  return {
    object: 'run',
    id,
    session_id: session,
    agent: run.agent,
    status: run.status === 'merged' ? 'running' : run.status,
    created_at: timeText(run.createdAt),
    ...definedFields({
      started_at: run.startedAt === undefined ? undefined : timeText(run.startedAt),
      ended_at: run.endedAt === undefined ? undefined : timeText(run.endedAt),
    }),
    ...definedFields({ superseded_by: by }),
    rounds: run.rounds,
    usage: { ...usageResource(run.usage), by_agent: byAgent },
    ...definedFields({ stop_reason: run.stopReason, source: run.source }),
    error:
      run.error === undefined
        ? null
        : { code: run.error.code, message: run.error.message, retryable: run.error.retryable },
    ...outputOf(run),
    waiting: waiting.map(({ message, arguments: text }) => ({
      message_id: message.id,
      tool_call_id: message.toolCallId,
      tool_name: message.toolName,
      arguments: text,
      needs: message.needs ?? 'result',
      agent: message.agent,
      ...parentFields(message),
    })),
    ...definedFields({ input: inputResource(run) }),
  }
}

/** The output of a run with a format, with its numbers as the model sent them. */
const outputOf = ({ settings, output }: Run): Pick<RunResource, 'output'> =>
  settings?.format === undefined ? {} : { output: output === undefined ? null : (readJson(output) as Json) }

function inputResource({ input }: Run): RunResource['input'] {
  if (input === undefined) return undefined
  const { parts, user, metadata } = input
  const said = parts.filter((part) => part.type !== 'note')
  const shown = said.map((part) => (part.type === 'text' ? { type: part.type, text: part.text } : mediaFields(part)))
  return { parts: shown, ...definedFields({ user, metadata }) }
}
