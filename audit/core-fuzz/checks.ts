import type { Message } from '../../functions/domain/messages/message.ts'
import { OPEN_STATUSES } from '../../functions/domain/messages/message.ts'
import { isEnded } from '../../functions/domain/runs/run.ts'
import type { Run } from '../../functions/domain/runs/run.ts'
import { idsOf, kinds, readEvents } from './followers.ts'
import type { Accepted } from './operations.ts'
import type { World } from './world.ts'

/** A run with at least this number of events is not resumed after each event, because that is slow. */
const MAX_RESUMED = 60
const AGENTS: ReadonlySet<string> = new Set(['default', 'helper', 'deep'])
const COPIED = [
  ...['role', 'parts', 'toolCalls', 'status', 'round', 'agent', 'sequence', 'toolCallId', 'parentToolCallId'],
  ...['call', 'searched', 'finishReason'],
] as const

/** Checks that each accepted input is in the log once, unless it was cancelled in the queue. */
export async function checkInputs(world: World, accepted: Accepted, log: readonly Message[]): Promise<void> {
  const { harness, report } = world
  for (const [text, runId] of accepted) {
    const found = log.filter(
      (message) => message.role === 'user' && message.parts.some((part) => part.type === 'text' && part.text === text),
    )
    const run = await harness.ports.reader.run(harness.key, runId)
    if (run === undefined) report(`the run of ${text} is gone`)
    else if (run.status === 'cancelled' && run.startedAt === undefined) {
      if (found.length > 0) report(`an input that was cancelled in the queue is in the log: ${text}`)
    } else if (found.length !== 1) report(`${text} (${run.status}) is ${found.length} times in the log`)
    else if (run.status === 'merged') {
      if (found[0]?.runId !== run.mergedInto) report(`${text} was merged into another run`)
    } else if (!isEnded(run.status)) report(`the run of ${text} is ${run.status} at the end`)
  }
}

/**
 * Checks the log: ids are in order, each call has a row, no call is open, rounds are counted, and no source number is
 * used twice.
 */
export function checkLog({ report }: World, log: readonly Message[]): void {
  const ids = log.map(({ id }) => id)
  if (ids.some((id, index) => index > 0 && id <= (ids[index - 1] ?? ''))) report('ids are not in order')
  const rounds = new Map<string, number[]>()
  const numbers = new Set<number>()
  for (const message of log) {
    if (message.role === 'tool' && OPEN_STATUSES.includes(message.status))
      report(`a call is ${message.status} at the end`)
    if (message.role !== 'assistant') continue
    for (const [sequence, call] of message.toolCalls.entries()) {
      const rows = log.filter(
        (row) => row.role === 'tool' && row.assistantMessageId === message.id && row.sequence === sequence,
      )
      if (rows.length !== 1) report(`a call has ${rows.length} rows`)
      else if (rows[0]?.role === 'tool' && rows[0].toolCallId !== call.id) report('a row has the id of another call')
    }
    const loop = `${message.runId}/${message.parentMessageId ?? ''}`
    rounds.set(loop, [...(rounds.get(loop) ?? []), message.round])
    for (const { from, count } of message.numbered ?? [])
      for (let number = from; number < from + count; number++) {
        if (numbers.has(number)) report(`the number of a source is used twice: ${number}`)
        numbers.add(number)
      }
  }
  for (const [loop, list] of rounds)
    if (list.some((round, index) => round !== index)) report(`rounds of ${loop}: ${list.join(', ')}`)
}

/** Checks that a run's counters agree with its messages. */
export function checkCounts({ report }: World, run: Run, log: readonly Message[]): void {
  if (run.stopReason === 'imported') return
  const own = log.flatMap((message) => (message.role === 'assistant' && message.runId === run.id ? [message] : []))
  const rounds = own.filter(({ parentMessageId }) => parentMessageId === undefined).length
  if (run.rounds !== rounds) report(`a run counts ${run.rounds} rounds; the log has ${rounds}`)
  const tokens = own.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0)
  const summaries = Object.entries(run.usageByAgent)
    .filter(([agent]) => !AGENTS.has(agent))
    .reduce((sum, [, usage]) => sum + (usage.totalTokens ?? 0), 0)
  const counted = (run.usage.totalTokens ?? 0) - summaries
  if (counted !== tokens) report(`a run counts ${counted} tokens; the log has ${tokens}`)
}

/**
 * Checks that each message of a run has its event. Also checks that a follower that resumes after any event gets all
 * later events.
 */
export async function checkEvents(world: World, run: Run, log: readonly Message[]): Promise<void> {
  const ids = idsOf(await readEvents(world, run.id))
  for (const { id, role, runId } of log) {
    if (runId !== (run.mergedInto ?? run.id) || role === 'user') continue
    const event = `${id}:${role === 'assistant' ? 'message' : 'tool_call'}.completed`
    if (!ids.includes(event)) world.report(`a message of the role ${role} without its event`)
  }
  if (ids.length >= MAX_RESUMED) return
  for (const [index, id] of ids.entries()) {
    const got = new Set([...ids.slice(0, index + 1), ...idsOf(await readEvents(world, run.id, id))])
    const missing = ids.filter((one) => !got.has(one))
    const about = `${run.trigger}, ${run.status}`
    if (missing.length > 0) world.report(`resuming after ${kinds([id])} (${about}) misses ${kinds(missing)}`)
  }
}

/** Checks that a fork equals its source. */
export async function checkFork({ dice, harness, report }: World, runs: readonly Run[], log: readonly Message[]) {
  const ended = runs.filter(({ status }) => isEnded(status))
  if (ended.length === 0) return
  const { id } = dice.pick(ended)
  const through = log.findLast(({ runId }) => runId === id)?.id
  if (through === undefined) return
  const key = { tenant: harness.key.tenant, session: 'fork' }
  const to = await harness.ports.sessions.create({ ...key, agent: 'default', metadata: {} })
  await harness.service.copyLog(harness.key, through, to)
  const { messages } = await harness.ports.reader.messages(key, { order: 'ascending', limit: 5_000 })
  const source = log.filter((message) => message.id <= through)
  if (messages.length !== source.length) report(`a fork has ${messages.length} messages of ${source.length}`)
  for (const [index, message] of source.entries())
    for (const field of COPIED) {
      const [was, is] = [message, messages[index]].map((one) => JSON.stringify(one && Reflect.get(one, field)))
      if (was !== is) report(`a fork differs in ${field} of a message of the role ${message.role}: ${was}, ${is}`)
    }
}
