import { interruptedCalls, nextStep } from '../../../functions/agent/loop/next-step.ts'
import type { Step } from '../../../functions/agent/loop/next-step.ts'
import { delegateTool } from '../../../functions/agent/loop/members/delegate-tool.ts'
import {
  createLeader,
  createMember,
  openCalls,
  ownMessages,
  refusalOf,
  remember,
  roundsOf,
  threadsOf,
} from '../../../functions/agent/loop/thread.ts'
import type { OpenThread, Thread } from '../../../functions/agent/loop/thread.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import type { Agent } from '../../../functions/domain/agent.ts'
import { isLeaders, MAX_ROUND_CALLS, OPEN_STATUSES, parentNames } from '../../../functions/domain/messages/message.ts'
import type { AssistantMessage, Message, ToolCall, ToolMessage } from '../../../functions/domain/messages/message.ts'
import { DELEGATE_TOOL } from '../../../functions/domain/runs/team.ts'
import { makeTool } from '../harness.ts'

const agentNamed = (name: string): Agent => ({
  ...{ name, model: 'script/ed', modelOptions: {}, tools: [], members: name === 'leader' ? ['member'] : [] },
  policies: { ...DEFAULT_POLICIES, maxRounds: 3 },
})
const LEADER = agentNamed('leader')
const MEMBER = agentNamed('member')
const none = async () => ({ text: '' })
const TOOLS = [
  makeTool('plain', none),
  makeTool('repeatable', none, { idempotent: true }),
  makeTool('approved', none, { needsApproval: true }),
]
const NAMES = ['plain', 'repeatable', 'approved', 'client', 'unknown', DELEGATE_TOOL]
/** More steps than any run of this world needs. */
const MAX_STEPS = 20_000

class Crash extends Error {}

/**
 * A source of decisions. Each decision uses the next number of a list. After the end of the list, every decision is 0.
 */
export interface Tape {
  /** Returns a number from 0 to `count - 1`. */
  pick(count: number): number
}

/** A run that is driven by `nextStep` over a durable log, with a scripted model, clients and crashes. */
export interface World {
  /** The durable log. */
  readonly log: Message[]
  /** How often each call has taken effect, by the id of its row. */
  readonly effects: Map<string, number>
  readonly faults: string[]
  readonly steps: Set<Step['type']>
  crashes: number
}

/** Plays a run until it ends. After each crash and each pause, a new holder reads the log and continues. */
export function playRun(tape: Tape): World {
  const world: World = { log: [], effects: new Map(), faults: [], steps: new Set(), crashes: 0 }
  const holder = createHolder(world, tape)
  for (let ending: Ending = 'waiting'; ending !== 'ended';) {
    const leader = openFrom(world.log)
    try {
      for (const thread of threadsOf(leader))
        for (const row of interruptedCalls(thread)) holder.store(thread, { ...row, status: 'interrupted' })
      ending = holder.advance(leader)
      if (ending === 'waiting') resolveCalls(world, tape)
    } catch (error) {
      if (!(error instanceof Crash)) throw error
    }
  }
  return world
}

type Ending = 'ended' | 'waiting'

/** Opens the threads of a run from its log, as `openRun` does. */
function openFrom(log: readonly Message[]): OpenThread {
  const leader = opened(createLeader('r', LEADER))
  remember(leader, log.filter(isLeaders))
  for (const call of openCalls(leader)) {
    const own = log.filter(({ parentMessageId }) => parentMessageId === call.id)
    if (own.length === 0) continue
    const member = opened(createMember(leader, call, MEMBER))
    remember(member, own)
    leader.members.set(call.id, member)
  }
  return { ...leader, summary: 'due' }
}

function opened(thread: Thread): OpenThread {
  const tools = [...TOOLS, ...(thread.agent === LEADER ? [delegateTool([MEMBER])] : [])]
  const model = () => Promise.reject(new Error('the world has its own model'))
  return {
    ...thread,
    ...{ tools: new Map(tools.map((tool) => [tool.name, tool])), model, faults: new Map() },
    ...{ isWhole: false, summary: 'considered' },
  }
}

/** Plays a client that resolves at least one of the waiting calls. */
function resolveCalls({ log }: World, tape: Tape): void {
  const waiting = log.filter((row): row is ToolMessage => row.role === 'tool' && row.status === 'waiting')
  const count = 1 + tape.pick(waiting.length)
  for (const row of waiting.slice(0, count)) {
    const status = row.needs === 'result' ? 'completed' : (['approved', 'denied'] as const)[tape.pick(2)]
    log[log.indexOf(row)] = { ...row, status: status ?? 'denied' }
  }
}

/** Creates a holder of the run. It performs steps, and may crash before and after each durable write and each effect. */
function createHolder(world: World, tape: Tape) {
  const mayCrash = (): void => {
    if (tape.pick(15) !== 1) return
    world.crashes++
    throw new Crash()
  }
  const nextId = (): string => String(world.log.length + 1).padStart(26, '0')

  function store(thread: Thread, ...messages: readonly Message[]): void {
    mayCrash()
    for (const message of messages) {
      const index = world.log.findIndex(({ id }) => id === message.id)
      if (index < 0) world.log.push(message)
      else world.log[index] = message
    }
    mayCrash()
    remember(thread, messages)
  }

  function advance(thread: OpenThread): Ending {
    for (let steps = 0; ; steps++) {
      if (steps > MAX_STEPS) throw new Error('the run does not end')
      const step = nextStep(thread)
      world.steps.add(step.type)
      if (step.type === 'waitForDecision') return 'waiting'
      if (step.type === 'finish' || step.type === 'fail') return 'ended'
      if (step.type === 'request') {
        if (request(thread) === 'ended') return 'ended'
      } else perform(thread, step)
    }
  }

  function perform(
    thread: OpenThread,
    step: Exclude<Step, { type: 'waitForDecision' | 'finish' | 'fail' | 'request' }>,
  ): void {
    switch (step.type) {
      case 'storeRefused':
        store(thread, ...rowsOf(thread, step.asked, { first: step.first, ids: nextId }).map(asError))
        break
      case 'beginApproved':
        for (const row of step.calls) store(thread, { ...row, status: 'running' })
        break
      case 'delegate':
        for (const { row, task } of step.tasks) {
          const member = opened(createMember(thread, row, MEMBER))
          const names = { runId: 'r', agent: 'member', round: 0, createdAt: 0, ...parentNames(member) }
          store(member, { id: nextId(), role: 'user', ...names, parts: [{ type: 'text', text: task }] })
          thread.members.set(row.id, member)
        }
        break
      case 'executeCalls':
        for (const row of step.calls) execute(thread, row)
        for (const { row, member } of step.members) {
          if (advance(member) === 'waiting') continue
          store(thread, { ...row, status: 'completed' })
          thread.members.delete(row.id)
        }
        break
      case 'summarise':
        thread.summary = 'considered'
    }
  }

  function execute(thread: OpenThread, row: ToolMessage): void {
    const stored = world.log.find(({ id }) => id === row.id)
    if (stored?.role !== 'tool' || stored.status !== 'running')
      world.faults.push(`the call ${row.id} executes before it is stored as running`)
    const asked = thread.messages.find(({ id }) => id === row.assistantMessageId) as AssistantMessage
    if (refusalOf(thread, asked, row.sequence) !== undefined) return store(thread, asError(row))
    mayCrash()
    world.effects.set(row.id, (world.effects.get(row.id) ?? 0) + 1)
    mayCrash()
    store(thread, { ...row, status: 'completed' })
  }

  function request(thread: OpenThread): 'ended' | 'continues' {
    if (ownMessages(thread).some((row) => row.role === 'tool' && OPEN_STATUSES.includes(row.status)))
      world.faults.push('a request is sent while a call is open')
    const count = [0, 1, 2, 3, MAX_ROUND_CALLS + 2][tape.pick(5)] ?? 0
    const toolCalls = Array.from({ length: count }, (_, place): ToolCall => {
      const name = NAMES[tape.pick(NAMES.length)] ?? ''
      return { id: `c${place}`, name, arguments: '{"member":"member","task":"look"}' }
    })
    const names = {
      runId: 'r',
      agent: thread.agent.name,
      round: roundsOf(thread),
      createdAt: 0,
      ...parentNames(thread),
    }
    const asked: AssistantMessage = { id: nextId(), role: 'assistant', ...names, parts: [], toolCalls }
    const base = world.log.length + 2
    let row = 0
    const ids = (): string => String(base + row++).padStart(26, '0')
    store(thread, asked, ...rowsOf(thread, asked, { first: 0, ids }))
    return toolCalls.length === 0 ? 'ended' : 'continues'
  }

  return { advance, store }
}

/** Returns the rows of at most `MAX_ROUND_CALLS` calls of a completion, from the call `first` on. */
function rowsOf(
  thread: OpenThread,
  asked: AssistantMessage,
  { first, ids }: { readonly first: number; readonly ids: () => string },
): ToolMessage[] {
  let last = Number(ids()) - 1
  return asked.toolCalls.slice(first, first + MAX_ROUND_CALLS).map((call, place): ToolMessage => {
    const sequence = first + place
    const needs = ({ approved: 'approval', client: 'result' } as const)[call.name]
    const waits = needs !== undefined && refusalOf(thread, asked, sequence) === undefined
    return {
      ...{ id: String(++last).padStart(26, '0'), role: 'tool', runId: 'r', agent: asked.agent, ...parentNames(asked) },
      ...{ round: asked.round, createdAt: 0, assistantMessageId: asked.id, toolCallId: call.id, toolName: call.name },
      ...{ call: call.name, sequence, parts: [], generation: 1 },
      ...(waits ? { status: 'waiting', needs } : { status: 'running' }),
    }
  })
}

const asError = (row: ToolMessage): ToolMessage => ({ ...row, status: 'error' })
