import { definedFields } from '../../../../domain/defined-fields.ts'
import type { Run, RunInput, RunNotice, RunStatus } from '../../../../domain/runs/run.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { joinUsages, sumOf } from '../../../../domain/usage/usage.ts'
import { numberAt, requiredText, textAt, toItem, type Item } from '../../attributes.ts'
import { joined, namesOf, type Bodies, type Text, type TextFields } from '../messages/bodies.ts'
import { absent, is, type Change, type Condition } from '../../expressions.ts'
import { RUN_PREFIX, runKey, steeringKey, type ItemKey } from '../../keys.ts'
import type { Action } from '../../table.ts'
import { usageOf } from '../usage/usage-counters.ts'

/*
 * In addition to the run's own fields, an item has: `since` and `last` (the log's last message when it started and when it
 * ended), and `ended_gen` (the generation of the holder that ended it).
 */

type Fixed = Pick<
  Run,
  'agent' | 'trigger' | 'onBusy' | 'clientTools' | 'instructions' | 'keyId' | 'delivery' | 'createdAt' | 'source'
>
type End = Pick<Run, 'stopReason' | 'error'>

export const runIdOf = (item: Item): string => requiredText(item, 'sk').slice(RUN_PREFIX.length)
export const runStatusOf = (item: Item): RunStatus => requiredText(item, 'status') as RunStatus
export const isQueued: Condition = is('status', 'queued')

/** The texts of a new run; store them before `putRun` is written. */
export function textsOfRun(run: Run): Text[] {
  const { id, agent, trigger, onBusy, clientTools, instructions, keyId, delivery, createdAt, input, source } = run
  const more = definedFields({ instructions, keyId, delivery, source })
  const fixed: Fixed = { agent, trigger, onBusy, clientTools, createdAt, ...more }
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

/**
 * Puts the run of an imported turn whose texts are stored, which has ended: a new one after the message `since`, or one that an
 * earlier step has put. `last`: its last message.
 */
export function putImportedRun(
  key: ItemKey,
  run: Run,
  texts: readonly TextFields[],
  {
    since,
    last,
    isNew,
  }: { readonly since?: string | undefined; readonly last: string | undefined; readonly isNew: boolean },
): Action {
  const fields = {
    status: run.status,
    started_at: run.startedAt,
    ended_at: run.endedAt,
    rounds: run.rounds,
    last,
    ...joined(texts),
  }
  if (isNew) return { put: toItem({ ...key, ...fields, since }), when: absent('pk') }
  return { update: key, when: is('status', 'completed'), change: { set: fields } }
}

/** The run's item among those that steer; nothing for any other run. */
export const putSteering = (key: SessionKey, { id, onBusy }: Run): Action[] =>
  onBusy === 'steer' ? [{ put: toItem({ ...steeringKey(key, id) }) }] : []

/** A run that leaves the queue no longer steers. */
export const removeSteering = (key: SessionKey, { id, onBusy }: Pick<Run, 'id' | 'onBusy'>): Action[] =>
  onBusy === 'steer' ? [{ remove: steeringKey(key, id) }] : []

/** A queued run has started after the message `since`; its input is a message now. */
export const startedChange = (startedAt: number, since: string | undefined): Change => ({
  set: { status: 'running', started_at: startedAt, since },
  remove: namesOf('input'),
})

/** The text of a run's end; store it before the end is written. */
export const textOfEnd = (id: string, { stopReason, error }: End): Text => ({
  id,
  attribute: 'end',
  text: JSON.stringify({ stopReason, error }),
})

/** The text of a run's notices. */
export const textOfNotices = (id: string, notices: readonly RunNotice[]): Text => ({
  id,
  attribute: 'notices',
  text: JSON.stringify(notices),
})

/** Nothing was decided since this item was read: who rewrites the notices has seen all of them. */
export function decidedAs(run: Item): Condition {
  const decisions = numberAt(run, 'decisions')
  return decisions === undefined ? absent('decisions') : is('decisions', decisions)
}

/** The notices that an item holds. */
export async function noticesOf(bodies: Bodies, key: SessionKey, item: Item): Promise<RunNotice[]> {
  const text = await bodies.read(key, item, 'notices')
  return text === undefined ? [] : (JSON.parse(text) as RunNotice[])
}

/**
 * The run of an item, whole. While it is active, its rounds and tokens are counted in the header, which is written every
 * round anyway.
 */
export async function runOf(bodies: Bodies, key: SessionKey, item: Item, header: Item | undefined): Promise<Run> {
  const id = runIdOf(item)
  const [body, input, end, notices] = await Promise.all([
    bodies.read(key, item, 'body'),
    bodies.read(key, item, 'input'),
    bodies.read(key, item, 'end'),
    noticesOf(bodies, key, item),
  ])
  if (body === undefined) throw new Error(`run ${id} has no body`)
  const active = header !== undefined && textAt(header, 'active_run') === id ? header : undefined
  const usageByAgent = active === undefined ? usageOf(item) : joinUsages(usageOf(item), usageOf(active))
  return {
    id,
    ...(JSON.parse(body) as Fixed),
    status: runStatusOf(item),
    ...(input === undefined ? {} : { input: JSON.parse(input) as RunInput }),
    ...definedFields({
      mergedInto: textAt(item, 'merged_into'),
      startedAt: numberAt(item, 'started_at'),
      endedAt: numberAt(item, 'ended_at'),
    }),
    rounds: numberAt(active ?? item, 'rounds') ?? 0,
    usage: sumOf(usageByAgent),
    usageByAgent,
    ...(end === undefined ? {} : (JSON.parse(end) as End)),
    ...(notices.length === 0 ? {} : { notices }),
    ...definedFields({ decisions: numberAt(item, 'decisions') }),
  }
}
