import type { z } from '@hono/zod-openapi'
import type { ToolMessage } from '../../../domain/message.ts'
import { isEnded } from '../../../domain/run.ts'
import type { Run } from '../../../domain/run.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { RunSchema } from '../schemas/run.ts'
import { timeText } from '../time-text.ts'
import { usageResource } from './usage.ts'

export type RunResource = z.input<typeof RunSchema>

/** A steering input can be merged into a run that was itself merged; longer chains do not happen. */
const LONGEST_CHAIN = 8
/** A round has at most 64 calls. */
const MOST_WAITING = 64

/** A run and its calls that wait for an answer. */
export interface RunView {
  readonly run: Run
  readonly waiting: readonly WaitingCall[]
}
export interface WaitingCall {
  readonly message: ToolMessage
  /** The raw string as the model sent it. */
  readonly arguments: string
}

/** The run; one that was merged into another shows that one's state. */
export async function findRun(reader: LogReader, key: SessionKey, id: string): Promise<Run | undefined> {
  let run = await reader.run(key, id)
  for (let step = 0; run?.mergedInto !== undefined && step < LONGEST_CHAIN; step++)
    run = await reader.run(key, run.mergedInto)
  return run
}

/** The run with what it waits for; undefined when there is none. */
export async function viewRun(reader: LogReader, key: SessionKey, id: string): Promise<RunView | undefined> {
  const run = await findRun(reader, key, id)
  return run === undefined ? undefined : { run, waiting: await waitingCalls(reader, key, run) }
}

/** The open calls of an active run that someone else must answer, in the order in which they were asked for. */
export async function waitingCalls(reader: LogReader, key: SessionKey, run: Run): Promise<WaitingCall[]> {
  if (isEnded(run.status) || run.status === 'queued') return []
  const { messages } = await reader.messages(key, {
    run: run.id,
    roles: ['tool'],
    order: 'descending',
    limit: MOST_WAITING,
  })
  const waiting = messages.filter((message) => message.role === 'tool' && message.status === 'waiting')
  return withArguments(reader, key, waiting.toReversed() as ToolMessage[])
}

/** Calls together with the arguments that their assistant messages hold. */
export async function withArguments(
  reader: LogReader,
  key: SessionKey,
  calls: readonly ToolMessage[],
): Promise<WaitingCall[]> {
  const ids = [...new Set(calls.map((call) => call.assistantMessageId))]
  const askers = new Map(await Promise.all(ids.map(async (id) => [id, await reader.message(key, id)] as const)))
  return calls.map((message) => {
    const asker = askers.get(message.assistantMessageId)
    const call = asker?.role === 'assistant' ? asker.toolCalls.find(({ id }) => id === message.toolCallId) : undefined
    return { message, arguments: call?.arguments ?? '' }
  })
}

/** Whether nothing more happens in the run until somebody acts. */
export const isSettled = ({ run, waiting }: RunView): boolean =>
  isEnded(run.status) || (run.status === 'paused' && waiting.length > 0)

/** A run as the API shows it. `id`: the one asked for, which a merged run keeps. */
export function runResource(session: string, { run, waiting }: RunView, id: string = run.id): RunResource {
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
    rounds: run.rounds,
    usage: usageResource(run.usage),
    ...definedFields({ stop_reason: run.stopReason }),
    error:
      run.error === undefined
        ? null
        : { code: run.error.code, message: run.error.message, retryable: run.error.retryable },
    waiting: waiting.map(({ message, arguments: text }) => ({
      message_id: message.id,
      tool_call_id: message.toolCallId,
      tool_name: message.toolName,
      arguments: text,
      needs: message.needs ?? 'result',
    })),
  }
}
