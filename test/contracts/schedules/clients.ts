import type { ToolMessage } from '../../../functions/domain/messages/message.ts'
import { isDelegation } from '../../../functions/domain/runs/team.ts'
import type { OnBusy, RunStatus } from '../../../functions/domain/runs/run.ts'
import type { Resolution } from '../../../functions/domain/runs/call-resolution.ts'
import { holdStarted } from './holder.ts'
import type { Process } from './processes.ts'
import { codeOf, portsOf, Violation } from './harness.ts'
import type { Plan, Harness } from './harness.ts'
import { removeRest } from './worker.ts'

/** An input sent by a client. */
export interface Input {
  readonly client: number
  readonly onBusy: OnBusy
  readonly plan: Plan
  /** Whether the client's process runs the loop if the session is idle. */
  readonly here: boolean
  /** Whether the client continues after a failed run instead of sending an input. */
  readonly again: boolean
}

/** Awaits a write. Returns undefined if the write is refused with one of `codes`. */
async function unless<T>(codes: readonly string[], write: Promise<T>): Promise<T | undefined> {
  try {
    return await write
  } catch (error) {
    const code = codeOf(error)
    if (code === undefined || !codes.includes(code)) throw error
    return undefined
  }
}

/** Sends a client's inputs one after the other. Waits until each input is acknowledged or refused. */
export async function post(
  harness: Harness,
  process: Process,
  inputs: readonly (Input & { number: number })[],
): Promise<void> {
  const { inbox } = portsOf(harness, process.name)
  for (const { number, onBusy, plan, here, again } of inputs) {
    const run = {
      agent: 'helper',
      onBusy,
      clientTools: [],
      idempotency: { keyHash: `key-${number}`, bodyHash: 'body' },
      ...(again
        ? ({ trigger: 'continue' } as const)
        : ({ trigger: 'input', input: { parts: [{ type: 'text', text: JSON.stringify(plan) }] } } as const)),
      ...(here ? { startAs: `${process.name}#${number}` } : {}),
    }
    const after: string[] = []
    const accepted = await unless(
      ['session_not_found', 'session_busy', 'nothing_to_continue'],
      process.write({ name: `post ${number} (${again ? 'continue' : onBusy})` }, () => {
        if (!harness.ghosts.sent.some((sent) => sent.input === number)) {
          after.push(...harness.ghosts.accepted.values())
          harness.ghosts.sent.push({ input: number, after })
        }
        return inbox.enqueue(harness.key, run)
      }),
    )
    if (accepted === undefined) continue
    harness.ghosts.accepted.set(number, accepted.runId)
    if (!harness.fair) harness.hints++
    if (accepted.started !== undefined) await holdStarted(harness, process, accepted.started)
  }
}

/** Makes up to `tries` attempts to resolve the first waiting call with `text`, or all waiting calls if `all` is set. */
export async function resolve(
  harness: Harness,
  process: Process,
  text: string,
  all: boolean,
  tries: number,
): Promise<void> {
  const { inbox } = portsOf(harness, process.name)
  const waiting = (): ToolMessage[] =>
    harness.seen.messages.filter((row) => row.role === 'tool').filter((row) => row.status === 'waiting')
  // Members of a team use the same call ids, so their calls are named by message ids.
  const hasTeam = (runId: string): boolean =>
    harness.seen.messages.some((row) => row.runId === runId && row.role === 'tool' && isDelegation(row))
  for (let tried = 0; tried < tries; tried++) {
    await process.at(
      'look for calls that wait',
      () => waiting().length > 0 && harness.seen.header?.cancel === undefined,
    )
    const calls = all ? waiting() : waiting().slice(0, 1)
    const [first] = calls
    if (first === undefined) continue
    const resolutions = calls.map((call): Resolution => {
      const named = { toolCallId: call.toolCallId, ...(hasTeam(first.runId) ? { messageId: call.id } : {}) }
      if (call.needs === 'approval')
        return { ...named, kind: 'approval', approved: text !== 'no', hash: `approval ${text !== 'no'}` }
      const parts = [{ type: 'text', text }] as const
      return { ...named, kind: 'result', status: 'completed', parts, hash: `result ${text}` }
    })
    const stored = await unless(
      ['session_not_found', 'run_not_found', 'call_not_found', 'resolution_conflict'],
      process.write({ name: `resolution ${resolutions.length} (${text})` }, () =>
        inbox.resolve(harness.key, first.runId, resolutions),
      ),
    )
    if (stored === undefined) continue
    if (!harness.fair && stored.complete) harness.hints++
    await requireStored(harness, process, calls, resolutions)
  }
}

/** Throws a `Violation` unless the acknowledged resolutions are in the log. */
async function requireStored(
  harness: Harness,
  process: Process,
  calls: readonly ToolMessage[],
  resolutions: readonly Resolution[],
): Promise<void> {
  const { reader } = portsOf(harness, process.name)
  for (const [place, call] of calls.entries()) {
    const row = await reader.message(harness.key, call.id)
    if (row?.role === 'tool' && row.resolutionHash !== resolutions[place]?.hash)
      throw new Violation('an acknowledged resolution is not in the log', call.toolCallId)
  }
}

/** A planned cancel of an input's run. It is sent in the state `when` of the run, or in any state if `when` is `accepted`. */
export interface Cancel {
  readonly input: number
  readonly when: RunStatus | 'accepted'
}

/** Cancels a run in the planned state. In the fair phase of the schedule, cancels the run in any state. */
export async function cancel(harness: Harness, process: Process, { input, when }: Cancel): Promise<void> {
  const { accepted } = harness.ghosts
  await process.at(`decide to cancel ${input}`, () => {
    const run = harness.seen.runs.find((one) => one.id === accepted.get(input))
    return accepted.has(input) && (harness.fair || when === 'accepted' || run?.status === when)
  })
  const runId = accepted.get(input) ?? ''
  const { inbox } = portsOf(harness, process.name)
  const done = await unless(
    ['session_not_found'],
    process.write({ name: `cancel ${input}` }, () => inbox.cancel(harness.key, runId)),
  )
  if (done === undefined || done.state === 'ended') return
  const run = harness.seen.runs.find((one) => one.id === runId)
  harness.ghosts.cancelled.add(run?.mergedInto ?? runId)
  if (!harness.fair) harness.hints++
}

/** Deletes the session at any time. */
export async function remove(harness: Harness, process: Process): Promise<void> {
  const { deletion } = portsOf(harness, process.name)
  if (await process.write({ name: 'delete' }, () => deletion.tombstone(harness.key))) harness.ghosts.deleted = true
  await removeRest(harness, process)
}

/** Deletes the session at any time after it has expired. */
export async function expire(harness: Harness, process: Process): Promise<void> {
  const { deletion, janitor } = portsOf(harness, process.name)
  for (;;) {
    await process.at('look for expired sessions', () => !harness.fair && harness.seen.header?.status === 'live')
    const found = await janitor.expired(harness.stores.clock.now(), 10_000)
    if (!found.some((key) => key.session === harness.key.session)) continue
    const done = await process.write({ name: 'expire' }, () => deletion.tombstone(harness.key, { ifExpired: true }))
    if (done) harness.ghosts.deleted = true
  }
}

/** Changes the title and metadata of the session at any time. */
export async function rename(harness: Harness, process: Process): Promise<void> {
  const { sessions } = portsOf(harness, process.name)
  const change = { title: 'renamed' }
  await unless(
    ['session_not_found'],
    process.write({ name: 'rename' }, () => sessions.update(harness.key, change)),
  )
}
