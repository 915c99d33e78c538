import type { ToolMessage } from '../../../functions/domain/message.ts'
import type { OnBusy, RunStatus } from '../../../functions/domain/run.ts'
import type { Resolution } from '../../../functions/ports/run-inbox.ts'
import { holdStarted } from './holder.ts'
import type { Process } from './processes.ts'
import { codeOf, portsOf, Violation } from './world.ts'
import type { Plan, World } from './world.ts'
import { removeRest } from './worker.ts'

/** An input that some client hands in. */
export interface Input {
  readonly client: number
  readonly onBusy: OnBusy
  readonly plan: Plan
  /** The client runs the loop itself when the session is idle. */
  readonly here: boolean
  /** Goes on after a failed run instead of saying something. */
  readonly again: boolean
}

/** Awaits a write that may be refused for one of `codes`; undefined then. */
async function unless<T>(codes: readonly string[], write: Promise<T>): Promise<T | undefined> {
  try {
    return await write
  } catch (error) {
    const code = codeOf(error)
    if (code === undefined || !codes.includes(code)) throw error
    return undefined
  }
}

/** Hands in a client's inputs one after the other, each until it is acknowledged or refused. */
export async function post(
  world: World,
  process: Process,
  inputs: readonly (Input & { number: number })[],
): Promise<void> {
  const { inbox } = portsOf(world, process.name)
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
        if (!world.ghosts.sent.some((sent) => sent.input === number)) {
          after.push(...world.ghosts.accepted.values())
          world.ghosts.sent.push({ input: number, after })
        }
        return inbox.enqueue(world.key, run)
      }),
    )
    if (accepted === undefined) continue
    world.ghosts.accepted.set(number, accepted.runId)
    if (!world.fair) world.hints++
    if (accepted.started !== undefined) await holdStarted(world, process, accepted.started)
  }
}

/** Answers whatever waits: one call or all of them, its own way, until its tries are used up (`Infinity`: for ever). */
export async function answer(world: World, process: Process, text: string, all: boolean, tries: number): Promise<void> {
  const { inbox } = portsOf(world, process.name)
  const waiting = (): ToolMessage[] =>
    world.seen.messages.filter((row) => row.role === 'tool').filter((row) => row.status === 'waiting')
  for (let tried = 0; tried < tries; tried++) {
    await process.at('look for calls that wait', () => waiting().length > 0 && world.seen.header?.cancel === undefined)
    const calls = all ? waiting() : waiting().slice(0, 1)
    const [first] = calls
    if (first === undefined) continue
    const answers = calls.map((call): Resolution => {
      const { toolCallId } = call
      if (call.needs === 'approval')
        return { toolCallId, kind: 'approval', approved: text !== 'no', hash: `approval ${text !== 'no'}` }
      const parts = [{ type: 'text', text }] as const
      return { toolCallId, kind: 'result', status: 'completed', parts, hash: `result ${text}` }
    })
    const stored = await unless(
      ['session_not_found', 'run_not_found', 'call_not_found', 'answer_conflict'],
      process.write({ name: `answer ${answers.length} (${text})` }, () =>
        inbox.resolve(world.key, first.runId, answers),
      ),
    )
    if (stored === undefined) continue
    if (!world.fair && stored.complete) world.hints++
    await requireStored(world, process, calls, answers)
  }
}

/** An acknowledged answer stands in the log. */
async function requireStored(
  world: World,
  process: Process,
  calls: readonly ToolMessage[],
  answers: readonly Resolution[],
): Promise<void> {
  const { reader } = portsOf(world, process.name)
  for (const [place, call] of calls.entries()) {
    const row = await reader.message(world.key, call.id)
    if (row?.role === 'tool' && row.resolutionHash !== answers[place]?.hash)
      throw new Violation('an acknowledged answer is not in the log', call.toolCallId)
  }
}

/** A cancel of the run of an input, at some time when it is in this state. */
export interface Cancel {
  readonly input: number
  readonly when: RunStatus | 'accepted'
}

/** Cancels a run when its time has come, at the latest when all else is fair. */
export async function cancel(world: World, process: Process, { input, when }: Cancel): Promise<void> {
  const { accepted } = world.ghosts
  await process.at(`decide to cancel ${input}`, () => {
    const run = world.seen.runs.find((one) => one.id === accepted.get(input))
    return accepted.has(input) && (world.fair || when === 'accepted' || run?.status === when)
  })
  const runId = accepted.get(input) ?? ''
  const { inbox } = portsOf(world, process.name)
  const done = await unless(
    ['session_not_found'],
    process.write({ name: `cancel ${input}` }, () => inbox.cancel(world.key, runId)),
  )
  if (done === undefined || done.state === 'ended') return
  const run = world.seen.runs.find((one) => one.id === runId)
  world.ghosts.cancelled.add(run?.mergedInto ?? runId)
  if (!world.fair) world.hints++
}

/** Deletes the session some time. */
export async function remove(world: World, process: Process): Promise<void> {
  const { deletion } = portsOf(world, process.name)
  if (await process.write({ name: 'delete' }, () => deletion.tombstone(world.key))) world.ghosts.deleted = true
  await removeRest(world, process)
}

/** Deletes the session if it is found expired, some time after it was. */
export async function expire(world: World, process: Process): Promise<void> {
  const { deletion, janitor } = portsOf(world, process.name)
  for (;;) {
    await process.at('look for expired sessions', () => !world.fair && world.seen.header?.status === 'live')
    const found = await janitor.expired(world.stores.clock.now(), 10_000)
    if (!found.some((key) => key.session === world.key.session)) continue
    const done = await process.write({ name: 'expire' }, () => deletion.tombstone(world.key, { ifExpired: true }))
    if (done) world.ghosts.deleted = true
  }
}

/** Changes what users see of the session, some time. */
export async function rename(world: World, process: Process): Promise<void> {
  const { sessions } = portsOf(world, process.name)
  const change = { title: 'renamed' }
  await unless(
    ['session_not_found'],
    process.write({ name: 'rename' }, () => sessions.update(world.key, change)),
  )
}
