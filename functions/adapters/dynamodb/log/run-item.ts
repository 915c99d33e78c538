import type { Run, RunInput, RunStatus } from '../../../domain/run.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { Usage } from '../../../domain/usage.ts'
import { given, numberAt, requiredText, textAt, toItem, type Item } from '../attributes.ts'
import { joined, namesOf, type Bodies, type Text, type TextFields } from './bodies.ts'
import { absent, is, type Change, type Condition } from '../expressions.ts'
import { RUN_PREFIX, runKey } from '../keys.ts'
import type { Action } from '../table.ts'
import { sumOf, usageOf } from './usage-counters.ts'

/*
 * Beside the run's own fields an item has: `since` and `last` (the log's last message when it started and when it ended), and
 * `ended_gen` (the generation of the holder that ended it).
 */

type Fixed = Pick<Run, 'agent' | 'trigger' | 'onBusy' | 'clientTools' | 'keyId' | 'createdAt'>
type End = Pick<Run, 'stopReason' | 'error'>

export const runIdOf = (item: Item): string => requiredText(item, 'sk').slice(RUN_PREFIX.length)
export const runStatusOf = (item: Item): RunStatus => requiredText(item, 'status') as RunStatus
export const isQueued: Condition = is('status', 'queued')

/** The texts of a new run, to be stored before `putRun` is written. */
export function textsOfRun(run: Run): Text[] {
  const { id, agent, trigger, onBusy, clientTools, keyId, createdAt, input } = run
  const fixed: Fixed = { agent, trigger, onBusy, clientTools, createdAt, ...given('keyId', keyId) }
  const body: Text = { id, attribute: 'body', text: JSON.stringify(fixed) }
  return input === undefined ? [body] : [body, { id, attribute: 'input', text: JSON.stringify(input) }]
}

/** Puts a new run whose texts are stored: queued, or started after the message `since`. */
export function putRun(key: SessionKey, run: Run, texts: readonly TextFields[], since?: string): Action {
  const item = toItem({
    ...runKey(key, run.id),
    status: run.status,
    started_at: run.startedAt,
    since,
    ...joined(texts),
  })
  return { put: item, when: absent('pk') }
}

/** A queued run has started after the message `since`; its input is a message now. */
export const startedChange = (now: number, since: string | undefined): Change => ({
  set: { status: 'running', started_at: now, since },
  remove: namesOf('input'),
})

/** The text of a run's end, to be stored before the end is written. */
export const textOfEnd = (id: string, { stopReason, error }: End): Text => ({
  id,
  attribute: 'end',
  text: JSON.stringify({ stopReason, error }),
})

/**
 * The run of an item, whole. While it is active, its rounds and tokens are counted in the header, which is written every
 * round anyway.
 */
export async function runOf(bodies: Bodies, key: SessionKey, item: Item, header: Item | undefined): Promise<Run> {
  const id = runIdOf(item)
  const [body, input, end] = await Promise.all([
    bodies.read(key, item, 'body'),
    bodies.read(key, item, 'input'),
    bodies.read(key, item, 'end'),
  ])
  if (body === undefined) throw new Error(`run ${id} has no body`)
  const counters = header !== undefined && textAt(header, 'active_run') === id ? header : item
  const usageByAgent: Record<string, Usage> = usageOf(counters)
  return {
    id,
    ...(JSON.parse(body) as Fixed),
    status: runStatusOf(item),
    ...(input === undefined ? {} : { input: JSON.parse(input) as RunInput }),
    ...given('mergedInto', textAt(item, 'merged_into')),
    ...given('startedAt', numberAt(item, 'started_at')),
    ...given('endedAt', numberAt(item, 'ended_at')),
    rounds: numberAt(counters, 'rounds') ?? 0,
    usage: sumOf(usageByAgent),
    usageByAgent,
    ...(end === undefined ? {} : (JSON.parse(end) as End)),
  }
}
