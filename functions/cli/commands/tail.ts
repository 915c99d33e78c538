import { setTimeout as sleep } from 'node:timers/promises'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Message, Run } from '../../client/api-types.ts'
import type { Client } from '../../client/client.ts'
import { isFinal } from '../../client/follow.ts'
import { createRunPrinter, onLost } from '../run-printer.ts'
import { note, oneLine, onErrors, printJson } from '../terminal.ts'
import { isOver } from './chat.ts'
import { showNewest } from './show.ts'

export interface TailOptions {
  /** Number of messages to show first. */
  readonly limit: number
  readonly json?: boolean
}

/** Polling interval of a session without a run in progress, in milliseconds. */
const IDLE_MS = 1_000
/** Wait after a failed read. */
const LOST_MS = 5_000
/** Runs in one page. */
const PAGE = 20

/** Shows the newest messages of a session, and then follows each of its runs, until `signal` aborts. */
export async function tail(client: Client, session: string, options: TailOptions, signal: AbortSignal): Promise<void> {
  const json = options.json === true
  // The runs are listed before the messages are read. So if the list shows a run as ended, all of its messages are
  // stored before the messages are read.
  const { data } = await client.listRuns(session, { limit: PAGE })
  const messages = await showNewest(client, session, { limit: options.limit, json })
  // The ids of shown events are kept, because a paused run is followed again after each pause.
  const shown = new Set(messages.flatMap(eventsOf))
  const after = eventsOf(messages.at(-1))[0]
  const ended = new Set(data.filter(isOver).map(({ id }) => id))
  // Starts at the oldest unfinished run. A newer run may have ended earlier, because a queued run can be cancelled.
  let from = (data.findLast((run) => !isOver(run)) ?? data[0])?.id ?? ''
  while (!signal.aborted) {
    const runs = await runsFrom(client, session, from, signal)
    for (const { id } of runs.filter((run) => !ended.has(run.id))) {
      if (await follow(client, { session, run: id, shown, after, json }, signal)) ended.add(id)
      if (!ended.has(id)) break
    }
    if (runs.every(({ id }) => ended.has(id))) from = runs.at(-1)?.id ?? from
    await sleep(IDLE_MS, undefined, { signal }).catch(() => undefined)
  }
}

interface Followed {
  readonly session: string
  readonly run: string
  /** Ids of the events that have been shown. */
  readonly shown: Set<string>
  /**
   * Id of an event of the newest message that was shown at the start. For the run of this message, events are read from
   * the message's round on.
   */
  readonly after: string | undefined
  readonly json: boolean
}

/** Shows a run to its end or pause. Returns whether it has ended. */
async function follow(
  client: Client,
  { session, run, shown, after, json }: Followed,
  signal: AbortSignal,
): Promise<boolean> {
  const printer = createRunPrinter()
  let hasEnded = false
  for await (const { id, event } of client.follow(session, run, { signal, onLost, after })) {
    if (id !== undefined && shown.has(id)) continue
    if (id !== undefined) shown.add(id)
    if (json) printJson(event)
    else {
      if (event.type === 'run.started' && event.message !== undefined)
        note(onErrors('bold', `USER ${inputOf(event.message)}\n`))
      printer.show(event)
    }
    if ('run' in event && isOver(event.run)) hasEnded = true
  }
  return hasEnded
}

/** Ids of the events of a message in its current state. */
function eventsOf(message: Message | undefined): string[] {
  if (message === undefined) return []
  const { id, role, status } = message
  const isOpen = status === 'running' || status === 'waiting'
  const types = {
    user: ['run.started', 'message.steered'],
    assistant: ['message.completed'],
    tool: isOpen ? ['tool_call.started'] : ['tool_call.started', 'tool_call.completed'],
  } as const
  return types[role].map((type) => `${id}:${type}`)
}

/**
 * Reads the runs from this one on, oldest first. Retries until it succeeds, and throws permanent errors. Empty if
 * `signal` aborts.
 */
async function runsFrom(client: Client, session: string, from: string, signal: AbortSignal): Promise<Run[]> {
  const runs: Run[] = []
  for (let after: string | undefined; !signal.aborted;)
    try {
      const page = await client.listRuns(session, { limit: PAGE, ...definedFields({ after }) }, { signal })
      runs.unshift(...page.data.filter(({ id }) => id >= from).toReversed())
      const oldest = page.data.at(-1)?.id
      if (page.next === null || oldest === undefined || oldest <= from) return runs
      after = page.next
    } catch (error) {
      if (signal.aborted) break
      if (isFinal(error)) throw error
      onLost(error)
      await sleep(LOST_MS, undefined, { signal }).catch(() => undefined)
    }
  return []
}

const inputOf = ({ parts }: { readonly parts: readonly object[] }): string =>
  oneLine(parts.map((part) => ('text' in part ? String(part.text) : '[file]')).join(' '), 200)
