import { isCancel, text } from '@clack/prompts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Client } from '../../client/client.ts'
import type { FollowedEvent } from '../../client/follow.ts'
import type { Run, RunEvent } from '../../client/api-types.ts'
import { Failed, INTERRUPTED, NEEDS_A_PERSON } from '../input.ts'
import { createRunPrinter, onLost } from '../run-printer.ts'
import { isInteractive, note, oneLine, onErrors, printJson } from '../terminal.ts'
import { askAboutCalls } from '../waiting-calls.ts'

export interface ChatOptions {
  readonly session?: string
  /** Whether to continue the session that was used last. */
  readonly continue?: boolean
  readonly agent?: string
  readonly owner?: string
  /** Whether to print each event as a line of JSON. */
  readonly json?: boolean
}

/** Sends one input, and follows its run to the end. */
export async function say(client: Client, input: string, options: ChatOptions): Promise<void> {
  const session = await sessionFor(client, options)
  const shown: Shown = { ids: new Set() }
  const end = await turn(client, session, input, options, shown)
  if (end.status === 'cancelled' && shown.stopped === true)
    throw new Failed(`You stopped the run. See: tooltrail show ${session}`, INTERRUPTED)
  if (end.status === 'paused')
    throw new Failed(
      `The run waits for ${waitsFor(end)}. Continue in: tooltrail chat --session ${session}`,
      NEEDS_A_PERSON,
    )
  if (end.status !== 'completed') throw new Failed(`The run ended as ${end.status}. See: tooltrail show ${session}`)
}

/** Sends inputs from a terminal, one after the other, until the person ends the program. */
export async function converse(client: Client, options: ChatOptions): Promise<void> {
  const session = await sessionFor(client, options)
  note(onErrors('dim', `session ${session} · Ctrl-C stops a run, twice or Ctrl-D leaves\n`))
  const paused = await activeRun(client, session)
  if (paused !== undefined) await finish(client, session, paused, { ids: new Set() }, options)
  for (;;) {
    const input = await text({ message: 'You', output: process.stderr })
    if (isCancel(input)) break
    if (input === undefined || input.trim() === '') continue
    await turn(client, session, input, options, { ids: new Set() })
  }
  note(onErrors('dim', `Go on later with: tooltrail chat --session ${session}\n`))
}

/** Returns the session's run that has not ended, whether it is paused or in progress. */
async function activeRun(client: Client, session: string): Promise<Run | undefined> {
  const { run } = await client.readSession(session)
  const latest = run === null ? undefined : await client.readRun(session, run.id)
  return latest === undefined || isOver(latest) ? undefined : latest
}

/** The ids of all events of the run that were shown, including those before its pauses. */
interface Shown {
  readonly ids: Set<string>
  last?: string
  /** Set when the person pressed Ctrl-C. */
  stopped?: boolean
}

async function turn(client: Client, session: string, input: string, options: ChatOptions, shown: Shown): Promise<Run> {
  const open: Open = (signal) => client.streamMessage(session, { content: input }, { signal, onLost })
  return finish(client, session, await watch(client, session, open, shown, options), shown, options)
}

/**
 * Follows a run until it ends. Asks the person about the calls that the run waits for. If the person cannot be asked or
 * gives no answer, returns the paused run.
 */
async function finish(client: Client, session: string, run: Run, shown: Shown, options: ChatOptions): Promise<Run> {
  let now = run
  while (!isOver(now)) {
    if (now.status === 'paused' && now.waiting.length > 0) {
      const results = isInteractive() ? await askAboutCalls(now.waiting) : undefined
      if (results === undefined) return now
      await client.sendToolResults(session, now.id, results)
    }
    const { id } = now
    const after = shown.last === undefined ? {} : { after: shown.last }
    now = await watch(
      client,
      session,
      (signal) => client.follow(session, id, { signal, onLost, ...after }),
      shown,
      options,
    )
  }
  return now
}

export const isOver = ({ status }: Run): boolean => ['completed', 'failed', 'cancelled'].includes(status)

type Open = (signal: AbortSignal) => AsyncIterable<FollowedEvent>

/**
 * Shows the events of a run until the stream ends. The first Ctrl-C cancels the run. The second one stops watching the
 * run.
 */
async function watch(client: Client, session: string, open: Open, shown: Shown, options: ChatOptions): Promise<Run> {
  const leave = new AbortController()
  const printer = createRunPrinter()
  let run: string | undefined
  let last: RunEvent | undefined
  let interrupts = 0
  const interrupt = (): void => {
    if (interrupts++ > 0 || run === undefined) return leave.abort()
    shown.stopped = true
    note(onErrors('dim', '\nstopping the run …\n'))
    client.cancelRun(session, run).catch((error: unknown) => {
      note(`The run could not be stopped: ${oneLine(String(error), 200)}\n`)
      leave.abort()
    })
  }
  process.on('SIGINT', interrupt)
  try {
    for await (const { id, event } of open(leave.signal)) {
      run = event.run_id
      if (id === undefined || !shown.ids.has(id)) {
        if (options.json === true) printJson(event)
        else printer.show(event)
      }
      if (id !== undefined) shown.ids.add((shown.last = id))
      last = event
    }
  } finally {
    process.off('SIGINT', interrupt)
  }
  if (last !== undefined && 'run' in last && LAST.includes(last.type)) return last.run
  const left =
    run === undefined
      ? `Left before a response came: the input may have been accepted. See: tooltrail show ${session}`
      : `Left: run ${run} goes on by itself.`
  throw new Failed(left, INTERRUPTED)
}

const LAST: readonly string[] = ['run.paused', 'run.completed', 'run.failed', 'run.cancelled']

async function sessionFor(client: Client, options: ChatOptions): Promise<string> {
  const { session, continue: continues, agent, owner } = options
  if (session !== undefined) return (await client.readSession(session)).id
  if (continues === true) {
    const { data } = await client.listSessions({ limit: 1, ...definedFields({ owner }) })
    if (data[0] === undefined) throw new Failed('There is no session to continue. Start one: tooltrail chat')
    return data[0].id
  }
  const made = await client.createSession({
    ...definedFields({ agent, owner }),
  })
  return made.id
}

const waitsFor = ({ waiting }: Run): string =>
  waiting
    .map(
      ({ tool_name, needs }) =>
        `${needs === 'approval' ? 'an approval of' : 'the result of'} ${oneLine(tool_name, 60)}`,
    )
    .join(', ')
