import { readFile } from 'node:fs/promises'
import type { Client, Message, RunBody } from '../../test/e2e/backend/client.ts'
import { expectReplayable, textOf } from '../../test/e2e/crashes/invariants.ts'
import type { Report } from './load.ts'

const ENDED: readonly string[] = ['completed', 'failed', 'cancelled']
/** Tools whose calls must not run twice. */
const ONCE = new Set(['record', 'slow'])

export interface Audit {
  readonly runs: number
  readonly ended: number
  readonly failed: number
  /**
   * Acknowledged inputs, shown messages and executed calls that are missing in the log. Each text names one of them.
   */
  readonly lost: readonly string[]
  readonly doubled: readonly string[]
  readonly forks: readonly string[]
  /** For each input: milliseconds from its acknowledgement to the end of its run. */
  readonly waits: readonly number[]
}

/** Compares the responses to clients and the effects of tools with the final log. */
export async function audit(client: Client, reported: Report, effectsFile: string): Promise<Audit> {
  const sessions = [...new Set(reported.accepted.map(({ session }) => session))]
  const messages = new Map<string, readonly Message[]>()
  const runs = new Map<string, RunBody>()
  const forks: string[] = []
  for (const session of sessions) {
    const found = await client.messages(session)
    messages.set(session, found)
    for (const run of await client.all<RunBody>(`/v1/sessions/${session}/runs?limit=100`)) runs.set(run.id, run)
    forks.push(...brokenOrder(session, found))
    try {
      expectReplayable(session, found, await client.chat(session))
    } catch (error) {
      forks.push(String(error))
    }
  }
  const all = [...messages.values()].flat()
  const effects = await readEffects(effectsFile)
  return {
    runs: runs.size,
    ended: [...runs.values()].filter((run) => ENDED.includes(run.status)).length,
    failed: [...runs.values()].filter((run) => run.status === 'failed').length,
    lost: [...lostInputs(reported, messages), ...lostMessages(reported, all), ...lostCalls(effects, all)],
    doubled: [...doubledInputs(reported, messages), ...doubledCalls(effects)],
    forks,
    waits: reported.accepted.flatMap(({ run, at }) => {
      const end = runs.get(run)?.ended_at
      return end === null || end === undefined ? [] : [Math.max(0, Date.parse(end) - at)]
    }),
  }
}

/**
 * Checks that the messages of each run are adjacent, and that the runs are in the order in which they were accepted.
 */
function brokenOrder(session: string, messages: readonly Message[]): string[] {
  const order: string[] = []
  for (const { run_id } of messages) if (order.at(-1) !== run_id) order.push(run_id)
  return order.join() === [...new Set(order)].toSorted().join() ? [] : [`${session}: runs out of order or interleaved`]
}

const timesInLog = ({ session, text }: Report['accepted'][number], messages: ReadonlyMap<string, readonly Message[]>) =>
  (messages.get(session) ?? []).filter((message) => message.role === 'user' && textOf(message) === text).length

const lostInputs = (reported: Report, messages: ReadonlyMap<string, readonly Message[]>): string[] =>
  reported.accepted.flatMap((one) => (timesInLog(one, messages) === 0 ? [`input ${one.text} of ${one.session}`] : []))

const doubledInputs = (reported: Report, messages: ReadonlyMap<string, readonly Message[]>): string[] =>
  reported.accepted.flatMap((one) => (timesInLog(one, messages) > 1 ? [`input ${one.text} of ${one.session}`] : []))

function lostMessages({ shown }: Report, all: readonly Message[]): string[] {
  const stored = new Map(all.map((message) => [message.id, JSON.stringify(message)]))
  return [...shown].flatMap(([id, text]) => (stored.get(id) === text ? [] : [`message ${id} as it was shown`]))
}

interface Effect {
  readonly tool: string
  readonly session: string
  readonly call: string
}

async function readEffects(file: string): Promise<Effect[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
  return lines.map((line) => {
    const [tool = '', session = '', , call = ''] = line.split('\t')
    return { tool, session, call }
  })
}

function lostCalls(effects: readonly Effect[], all: readonly Message[]): string[] {
  const rows = new Set(all.map((message) => `${message.session_id} ${message.tool_call_id}`))
  return effects.flatMap(({ session, call }) =>
    rows.has(`${session} ${call}`) ? [] : [`call ${call} of ${session}, which was executed`],
  )
}

function doubledCalls(effects: readonly Effect[]): string[] {
  const times = new Map<string, number>()
  for (const { tool, session, call } of effects)
    if (ONCE.has(tool)) times.set(`${session} ${call}`, (times.get(`${session} ${call}`) ?? 0) + 1)
  return [...times].flatMap(([name, count]) => (count > 1 ? [`call ${name}: ${count} times`] : []))
}
