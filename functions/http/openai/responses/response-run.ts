import type { RunEvent } from '../../../domain/events.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import type { Run } from '../../../domain/runs/run.ts'
import type { SessionKey } from '../../../domain/session.ts'
import { TooltrailError } from '../../../domain/errors.ts'
import { TOKEN_COUNTS, type Usage } from '../../../domain/usage/usage.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import type { AppDependencies } from '../../dependencies.ts'
import { findRun, withArguments } from '../../v1/runs/resource.ts'
import type { WaitingCall } from '../../v1/runs/resource.ts'
import type { AcceptedTurn } from '../sessions/chat-session.ts'
import { createRunSteps } from '../../run-steps/run-steps.ts'
import { createTypedTexts } from '../../run-steps/typed-texts.ts'
import type { OutputItem } from './response-items.ts'
import { createResponseOutput } from './response-output.ts'
import type { ResponseEvent } from './response-writer.ts'

/** The run of a Response, and the part of that run which the Response shows. */
export interface ResponsePart {
  readonly key: SessionKey
  readonly runId: string
  /**
   * How many times the run had asked the client for results before this Response. If `of` is set, the number applies
   * only to the run with that id.
   */
  readonly asked: number
  readonly of?: string
  readonly withCalls: boolean
}

/** The state of a Response. */
export interface ResponseState {
  readonly run: Run
  /** `asks`: the Response ends with calls for the client. `waits`: the run waits for an approval. */
  readonly status: 'queued' | 'in_progress' | 'asks' | 'waits' | 'ended'
  readonly items: readonly OutputItem[]
  /** The usage of this part alone; undefined until the part has ended. */
  readonly usage?: Usage
}

/**
 * Yields all events of a Response and returns its state. `shown` builds the content of events about the whole Response.
 */
export async function* responseEvents(
  { reader }: Pick<AppDependencies, 'reader'>,
  part: ResponsePart,
  events: AsyncIterable<RunEvent>,
  shown: (state: ResponseState) => object,
): AsyncGenerator<ResponseEvent, ResponseState> {
  const { key, runId, asked, of, withCalls } = part
  const first = await requireRun(reader, key, runId)
  let target = first.id
  const where = () => ({ runId: target, asked: of === undefined || of === target ? asked : 0 })
  const output = createResponseOutput({ where, withCalls })
  const steps = createRunSteps()
  const typed = createTypedTexts(first.settings?.format !== undefined)
  const begun: ResponseState = { run: first, status: 'in_progress', items: [] }
  yield output.event('response.created', { response: shown(begun) })
  yield output.event('response.in_progress', { response: shown(begun) })
  let pauses = 0
  let before: Usage | undefined
  let last: { readonly run: Run; readonly status: 'waits' | 'ended' } | undefined
  const state = (run: Run, status: ResponseState['status']): ResponseState => ({
    run,
    status,
    items: output.items,
    usage: usageSince(run.usage, before),
  })
  for await (const event of events) {
    target = event.runId
    for (const step of steps.take(event).flatMap(typed)) yield* output.take(step)
    if (event.type === 'run.paused') {
      const waiting = await pausedFor(reader, key, event.run.id, pauses++, event.waiting ?? [])
      const paused = output.pause(waiting)
      yield* paused.events
      if (paused.isEnd) return state(event.run, 'asks')
      if (waiting.some(({ message }) => message.needs === 'result')) before = event.run.usage
      last = { run: event.run, status: 'waits' }
    } else if (event.type === 'run.resumed') last = undefined
    else if (event.type === 'run.completed' || event.type === 'run.failed' || event.type === 'run.cancelled')
      last = { run: event.run, status: 'ended' }
  }
  if (last !== undefined) {
    yield* output.close()
    return state(last.run, last.status)
  }
  const run = await requireRun(reader, key, runId)
  return { run, status: run.status === 'queued' ? 'queued' : 'in_progress', items: output.items }
}

/** The run, or the run that it was merged into. Rejects with `run_not_found`. */
export async function requireRun(reader: LogReader, key: SessionKey, id: string): Promise<Run> {
  const run = await findRun(reader, key, id)
  if (run === undefined) throw new TooltrailError('run_not_found', `session ${key.session} has no run ${id}`)
  return run
}

/** Returns the calls that caused the current pause, including calls that were resolved during the pause. */
async function pausedFor(
  reader: LogReader,
  key: SessionKey,
  runId: string,
  pause: number,
  waiting: readonly ToolMessage[],
): Promise<WaitingCall[]> {
  const found = (await pausesOf(reader, key, await requireRun(reader, key, runId)))[pause]
  return withArguments(reader, key, found?.calls ?? waiting)
}

/** One pause in which a run asked the client for results. */
export interface Ask {
  readonly calls: readonly ToolMessage[]
  /** The id of the log's last message when the run paused. */
  readonly after: string
  /** Whether the run has been resumed after this pause. */
  readonly isOver: boolean
}

/** Lists all pauses in which a run asked the client for results, in order. */
export async function asksOf(reader: LogReader, key: SessionKey, run: Run): Promise<Ask[]> {
  const pauses = await pausesOf(reader, key, run)
  return pauses.filter(({ calls }) => calls.some(({ needs }) => needs === 'result'))
}

/**
 * Returns how many times the run had asked the client for results, including the request that this turn answers. Also
 * returns the suffix of the Response's id. The suffix is empty unless the turn resumes the run that the id names.
 */
export async function requestNumber(
  { reader }: Pick<AppDependencies, 'reader'>,
  { key, runId, answered }: Pick<AcceptedTurn, 'key' | 'runId' | 'answered'>,
): Promise<{ readonly asked: number; readonly suffix: string }> {
  if (answered === undefined) return { asked: 0, suffix: '' }
  const asks = await asksOf(reader, key, await requireRun(reader, key, answered.runId))
  const asked = asks.findIndex(({ calls }) => calls.some(({ id }) => answered.calls.includes(id))) + 1
  return { asked, suffix: asked === 0 || answered.runId !== runId ? '' : `.${asked}` }
}

/** Lists all pauses of a run, in order. */
async function pausesOf(reader: LogReader, key: SessionKey, { notices = [] }: Run): Promise<Ask[]> {
  return Promise.all(
    notices.flatMap((notice, place) => {
      if (notice.type !== 'run.paused') return []
      const isOver = notices.slice(place).some(({ type }) => type === 'run.resumed')
      return [pauseOf(notice.calls, notice.after, isOver)]
    }),
  )

  async function pauseOf(ids: readonly string[], after: string, isOver: boolean): Promise<Ask> {
    const found = await Promise.all(ids.map((id) => reader.message(key, id)))
    return { calls: found.filter((message) => message?.role === 'tool'), after, isOver }
  }
}

function usageSince(used: Usage, before: Usage | undefined): Usage {
  if (before === undefined) return used
  const since = (now: number | null, then: number | null): number | null =>
    now === null ? null : Math.max(0, now - (then ?? 0))
  return { ...used, ...Object.fromEntries(TOKEN_COUNTS.map((name) => [name, since(used[name], before[name])])) }
}
