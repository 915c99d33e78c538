import { expect } from 'vitest'
import { definedFields } from '../../../functions/domain/defined-fields.ts'
import type { RunEvent } from '../../../functions/domain/events.ts'
import { isEnded } from '../../../functions/domain/runs/run.ts'
import { isBlocked } from '../../../functions/domain/session.ts'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import type { ModelEvent } from '../../../functions/ports/model.ts'
import type { Ports } from '../../../functions/runtime/program.ts'
import { HANG_TIMEOUT_MS, until } from '../../eventually.ts'
import { fc } from '../../generators/seeded.ts'
import { completionOf, makeTool, openHarness } from '../harness.ts'
import type { Harness, Turn } from '../harness.ts'

/**
 * Kinds of calls: a tool that returns at once or later, a client tool, a tool with an approval, a tool with invalid sources, a
 * member's task.
 */
const KINDS = ['quick', 'held', 'held', 'ask', 'careful', 'faulty', 'team'] as const
type Kind = (typeof KINDS)[number]

interface PlannedRound {
  readonly calls: readonly Kind[]
  /** Whether the client resolves its calls while other calls of the round still run. */
  readonly answersEarly: boolean
  /** Whether the client sends its request to the other process, which does not execute the run. */
  readonly answersElsewhere: boolean
  readonly steers: boolean
  /** Whether the process stops after the round. If so, the other process continues the run. */
  readonly handsOver: boolean
  /** Whether held calls return in reverse order. */
  readonly isReversed: boolean
}

export interface Plan {
  readonly rounds: readonly PlannedRound[]
  /** Whether the run first waits in the queue behind another run. */
  readonly isQueued: boolean
  readonly allows: boolean
}

export const anyPlan: fc.Arbitrary<Plan> = fc.record({
  rounds: fc.array(
    fc.record({
      calls: fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 4 }),
      answersEarly: fc.boolean(),
      answersElsewhere: fc.boolean(),
      steers: fc.boolean(),
      handsOver: fc.boolean(),
      isReversed: fc.boolean(),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  isQueued: fc.boolean(),
  allows: fc.boolean(),
})

type Process = Pick<Harness, 'service' | 'worker' | 'key' | 'session' | 'ports'>

/**
 * Creates gates with names. `passed` waits until `open` has been called with the name of its gate.
 */
function createGates() {
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const gate = (name: string): PromiseWithResolvers<void> => {
    const found = gates.get(name) ?? Promise.withResolvers<void>()
    gates.set(name, found)
    return found
  }
  return { passed: (name: string) => gate(name).promise, open: (name: string) => gate(name).resolve() }
}

const clientTools = [{ name: 'ask', description: 'asks the client', parameters: { type: 'object' } }]
const toolOf: { readonly [kind in Kind]: string } = {
  ...{ quick: 'quick', held: 'held', ask: 'ask', careful: 'careful', faulty: 'faulty' },
  team: 'delegate_task_to_member',
}
const answersOf = (request: ModelRequest): number =>
  request.messages.filter(({ role, parts }) => role === 'assistant' && parts.some(({ type }) => type === 'tool_call'))
    .length
const textsOf = (request: ModelRequest): string =>
  JSON.stringify(request.messages.filter(({ role }) => role === 'user'))

/**
 * Plays a plan in two processes on one store, with followers in both. Some followers stay; others disconnect after each
 * event and resume with its id.
 * Throws unless each follower gets every event of the run once and in the same order. Each prefix of the events, together with
 * the events after resuming there, must be complete.
 */
export async function playPlan(plan: Plan, change?: (ports: Ports) => Ports): Promise<void> {
  const gates = createGates()
  const { turn, helper } = modelsOf(plan, gates.passed)
  const held = makeTool('held', async (input) => {
    await gates.passed(String((input as { name?: unknown }).name))
    return { text: 'held' }
  })
  const tools = [
    held,
    makeTool('quick', async () => ({ text: 'quick' })),
    makeTool('careful', async () => ({ text: 'done' }), { needsApproval: true }),
    makeTool('faulty', async () => ({ text: 'found', sources: [{ url: 'https://example.com' }] as never })),
  ]
  const script = Array.from({ length: 50 }, () => turn)
  const team = { helper: { script: Array.from({ length: 50 }, () => helper), tools: ['held', 'quick'] } }
  const harness = await openHarness({ tools, script, team, ...definedFields({ change }) })
  try {
    const { ports, key, submit } = harness
    if (change !== undefined) await ports.sessions.create({ ...key, agent: 'default', metadata: {} })
    const processes: [Process, Process] = [harness, harness.another(script, team)]
    if (plan.isQueued) await submit('first')
    const runId = await submit('go', { clientTools })
    const followers = processes.flatMap((one) => [followToEnd(one, runId, false), followToEnd(one, runId, true)])
    gates.open('first')
    await drive(plan, { processes, runId, open: gates.open, steer: () => submit('mind this', { onBusy: 'steer' }) })
    const live = await Promise.all(followers)
    const whole = await idsOf(harness, runId)
    expect(whole.at(-1)).toBe(`${runId}:run.completed`)
    expect(new Set(whole).size).toBe(whole.length)
    for (const seen of live) expect(seen).toEqual(whole)
    for (const one of processes)
      for (const place of whole.keys()) {
        const prefix = whole.slice(0, place + 1)
        const rest = await idsOf(one, runId, prefix.at(-1))
        expect(new Set(rest).size).toBe(rest.length)
        expect([...prefix, ...rest.filter((id) => !prefix.includes(id))]).toEqual(whole)
      }
  } finally {
    await harness.close()
  }
}

async function idsOf({ service, key }: Process, runId: string, after?: string): Promise<string[]> {
  const ids: string[] = []
  const options = { signal: AbortSignal.timeout(HANG_TIMEOUT_MS), ...definedFields({ after }) }
  for await (const event of service.follow(key, runId, options)) if ('id' in event) ids.push(event.id)
  return ids
}

/** Returns the ids that a follower gets until the run has ended. With `isCutOff`, the follower disconnects after each new id. */
async function followToEnd({ service, key, ports }: Process, runId: string, isCutOff: boolean): Promise<string[]> {
  const seen: string[] = []
  let last: RunEvent | undefined
  const hasEnded = (): boolean => last !== undefined && 'run' in last && isEnded(last.run.status)
  while (!hasEnded()) {
    const leave = new AbortController()
    const signal = AbortSignal.any([leave.signal, AbortSignal.timeout(HANG_TIMEOUT_MS)])
    const after = seen.at(-1)
    const ids = new Set<string>()
    for await (const event of service.follow(key, runId, { signal, ...definedFields({ after }) })) {
      if (!('id' in event)) continue
      expect(ids.has(event.id), `${event.id} comes twice`).toBe(false)
      ids.add(event.id)
      if (seen.includes(event.id)) continue
      last = event
      seen.push(event.id)
      if (isCutOff && !hasEnded()) leave.abort()
    }
    if (last?.type !== 'run.paused') continue
    await until(async () => {
      const header = await ports.lease.readHeader(key)
      return header === undefined || !isBlocked(header)
    })
  }
  return seen
}

interface Course {
  readonly processes: readonly [Process, Process]
  readonly runId: string
  open(gate: string): void
  steer(): Promise<unknown>
}

/** Plays the clients and operators during the planned run. */
async function drive({ rounds, allows }: Plan, { processes, runId, open, steer }: Course): Promise<void> {
  const [{ ports, key }] = processes
  let holder = 0
  const at = (place: number): Process => (place % 2 === 0 ? processes[0] : processes[1])
  const rows = async () => (await ports.reader.messages(key, { order: 'ascending', limit: 1_000, run: runId })).messages
  const waiting = async (): Promise<
    readonly { readonly id: string; readonly toolCallId: string; readonly needs?: string }[]
  > => (await rows()).flatMap((row) => (row.role === 'tool' && row.status === 'waiting' ? [row] : []))
  for (const [number, round] of rounds.entries()) {
    const calls = round.calls.map((_, place) => `r${number}-${place}`)
    const tasks = calls.filter((_, place) => round.calls[place] === 'team')
    await until(async () => {
      const stored = new Set((await rows()).flatMap((row) => (row.role === 'tool' ? [row.toolCallId] : [])))
      return [...calls, ...tasks.map((task) => `${task}-held`)].every((id) => stored.has(id))
    })
    if (round.answersEarly) await answer()
    if (round.steers) await steer()
    const worker = at(holder).worker
    const left = round.handsOver ? worker.handOff() : undefined
    const gates = [...calls, ...tasks.map((task) => `${task}-held`)]
    for (const gate of round.isReversed ? gates.toReversed() : gates) {
      open(gate)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await left
    if (left !== undefined) worker.resume()
    if ((await waiting()).length > 0) {
      await until(async () => (await ports.reader.run(key, runId))?.status === 'paused')
      await answer()
    } else if (left !== undefined) void at(++holder).worker.serve(key)

    async function answer(): Promise<void> {
      const { service, session } = at(round.answersElsewhere ? holder + 1 : holder)
      const found = await waiting()
      if (found.length === 0) return
      const resolutions = found.map(({ id, toolCallId, needs }) => ({
        ...{ messageId: id, toolCallId },
        ...(needs === 'approval' ? { approve: allows } : { output: [{ type: 'text' as const, text: 'mine' }] }),
      }))
      const isPaused = (await ports.reader.run(key, runId))?.status === 'paused'
      await service.resolve(session, runId, resolutions, { here: true })
      if (isPaused && round.answersElsewhere) holder++
    }
  }
}

/**
 * Returns the models of the leader and of the member. The leader follows the plan in either process. The member makes
 * two calls, one of which is held back.
 */
function modelsOf(
  { rounds }: Plan,
  passed: (gate: string) => Promise<void>,
): { readonly turn: Turn; readonly helper: Turn } {
  async function* said(turn: Exclude<Turn, (...args: never[]) => unknown>): AsyncIterable<ModelEvent> {
    yield { type: 'text.delta', part: 0, text: turn.text ?? '' }
    yield { type: 'completion', completion: completionOf(turn) }
  }
  return {
    async *turn(request) {
      if (!textsOf(request).includes('"go"')) {
        await passed('first')
        yield* said({ text: 'hello' })
        return
      }
      const number = answersOf(request)
      const round = rounds[number]
      const calls = (round?.calls ?? []).map((kind, place) => {
        const name = `r${number}-${place}`
        return {
          id: name,
          name: toolOf[kind],
          arguments: JSON.stringify(kind === 'team' ? { member: 'helper', task: name } : { name }),
        }
      })
      yield* said({ text: `round ${number}`, calls })
    },
    async *helper(request) {
      const task = /r\d+-\d+/.exec(textsOf(request))?.[0] ?? ''
      const name = `${task}-held`
      const calls = [
        { id: name, name: 'held', arguments: JSON.stringify({ name }) },
        { id: `${task}-quick`, name: 'quick' },
      ]
      yield* said(answersOf(request) === 0 ? { text: 'I work', calls } : { text: 'I have found it' })
    },
  }
}
