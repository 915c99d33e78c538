import { definedFields } from '../../../../domain/defined-fields.ts'
import type { Run, RunInput, RunNotice, RunStatus } from '../../../../domain/runs/run.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { joinUsages, sumOf } from '../../../../domain/usage/usage.ts'
import { numberAt, requiredText, textAt, toItem, type Item } from '../../attributes.ts'
import { joined, namesOf, type Bodies, type Text, type TextFields } from '../messages/bodies.ts'
import { withNewestRequest, type NewestRequest } from '../../../../domain/runs/run-changes.ts'
import { absent, all, is, present, type Change, type Condition } from '../../expressions.ts'
import { RUN_PREFIX, runKey, steeringKey, type ItemKey } from '../../keys.ts'
import type { Action } from '../../table.ts'
import { usageOf } from '../usage/usage-counters.ts'
import { readJson } from '../../../../log/json/exact-json.ts'

/*
 * In addition to the run's own fields, an item has:
 *
 * - `since`: the log's last message when the run started.
 * - `last`: the log's last message when the run ended.
 * - `ended_gen`: the generation of the holder that ended the run.
 */

type Fixed = Pick<
  Run,
  | 'agent'
  | 'trigger'
  | 'onBusy'
  | 'clientTools'
  | 'instructions'
  | 'settings'
  | 'keyId'
  | 'delivery'
  | 'createdAt'
  | 'source'
  | 'original'
>
/** The end of a run. `notices`: notices that were added at the end. */
type End = Pick<Run, 'stopReason' | 'error' | 'output' | 'notices'>

export const runIdOf = (item: Item): string => requiredText(item, 'sk').slice(RUN_PREFIX.length)
export const runStatusOf = (item: Item): RunStatus => requiredText(item, 'status') as RunStatus
export const isQueued: Condition = is('status', 'queued')

/** Returns the texts of a new run. Store them before `putRun` is written. */
export function textsOfRun(run: Run): Text[] {
  const { id, input } = run
  const body = bodyOfRun(run)
  return input === undefined ? [body] : [body, { id, attribute: 'input', text: JSON.stringify(input) }]
}

function bodyOfRun(run: Run): Text {
  const { id, agent, trigger, onBusy, clientTools, instructions, settings, keyId, delivery, createdAt } = run
  const { source, original } = run
  const more = definedFields({ instructions, settings, keyId, delivery, source, original })
  const fixed: Fixed = { agent, trigger, onBusy, clientTools, createdAt, ...more }
  return { id, attribute: 'body', text: JSON.stringify(fixed) }
}

/**
 * Returns the JSON to store for a run, after its newest request has changed the tools, instructions or settings.
 * Returns undefined if these have not changed. `header`: the session's header, which counts the rounds.
 */
export async function newestBody(
  bodies: Bodies,
  key: SessionKey,
  { item, header }: { readonly item: Item; readonly header: Item },
  request: NewestRequest | undefined,
): Promise<Text | undefined> {
  if (request === undefined) return undefined
  const before = await runOf(bodies, key, item, header)
  const run = withNewestRequest(before, request)
  return run === before ? undefined : bodyOfRun(run)
}

/** Returns the action that replaces the body of a run, unless another request has replaced it since this item was read. */
export function putBody(key: SessionKey, item: Item, text: TextFields): Action {
  const revision = numberAt(item, 'request_rev')
  const unused = namesOf('body').filter((name) => !(name in text))
  return {
    update: runKey(key, runIdOf(item)),
    when: revision === undefined ? all(present('pk'), absent('request_rev')) : is('request_rev', revision),
    change: { set: { ...text, request_rev: (revision ?? 0) + 1 }, remove: unused },
  }
}

/** Returns the action that creates a run whose texts are stored: queued, or started after the message `since`. */
export function putRun(key: SessionKey, run: Run, texts: readonly TextFields[], since?: string): Action {
  const item = toItem({
    ...runKey(key, run.id),
    status: run.status,
    started_at: run.startedAt,
    started_gen: run.startGeneration,
    since,
    ...joined(texts),
  })
  return { put: item, when: absent('pk') }
}

/**
 * Returns the action that stores the ended run of an imported turn. Store the run's texts first. A new run follows the
 * message `since`. If `isNew` is false, an earlier step has stored the run, and the action updates it. `last` is the
 * run's last message.
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

/** Returns the action that marks a run as steering; nothing for any other run. */
export const putSteering = (key: SessionKey, { id, onBusy }: Run): Action[] =>
  onBusy === 'steer' ? [{ put: toItem({ ...steeringKey(key, id) }) }] : []

/** Returns the action that removes the steering mark of a run when the run leaves the queue. */
export const removeSteering = (key: SessionKey, { id, onBusy }: Pick<Run, 'id' | 'onBusy'>): Action[] =>
  onBusy === 'steer' ? [{ remove: steeringKey(key, id) }] : []

/**
 * Returns the change that starts a queued run after the message `since`. It removes the run's input, which is now a
 * message.
 */
export const startedChange = ({ startedAt, startGeneration }: Run, since: string | undefined): Change => ({
  set: { status: 'running', started_at: startedAt, started_gen: startGeneration, since },
  remove: namesOf('input'),
})

/** Returns the text of a run's end. Store it before the end is written. */
export const textOfEnd = (id: string, { stopReason, error, output, notices }: End): Text => ({
  id,
  attribute: 'end',
  text: JSON.stringify({ stopReason, error, output, notices }),
})

/** Returns the text of a run's notices. */
export const textOfNotices = (id: string, notices: readonly RunNotice[]): Text => ({
  id,
  attribute: 'notices',
  text: JSON.stringify(notices),
})

/**
 * Requires that no decision was recorded since this item was read. A decision adds notices, which a rewrite of the
 * notices would lose.
 */
export function decidedAs(run: Item): Condition {
  const decisions = numberAt(run, 'decisions')
  return decisions === undefined ? absent('decisions') : is('decisions', decisions)
}

/** Returns the notices of an item. */
export async function noticesOf(bodies: Bodies, key: SessionKey, item: Item): Promise<RunNotice[]> {
  const text = await bodies.read(key, item, 'notices')
  return text === undefined ? [] : (readJson(text) as RunNotice[])
}

/**
 * Returns the complete run of an item. The rounds and tokens of an active run are in the header, because the header is
 * written every round anyway.
 */
export async function runOf(bodies: Bodies, key: SessionKey, item: Item, header: Item | undefined): Promise<Run> {
  const id = runIdOf(item)
  const [body, input, endText, before] = await Promise.all([
    bodies.read(key, item, 'body'),
    bodies.read(key, item, 'input'),
    bodies.read(key, item, 'end'),
    noticesOf(bodies, key, item),
  ])
  if (body === undefined) throw new Error(`run ${id} has no body`)
  const { notices: last = [], ...end }: End = endText === undefined ? {} : (readJson(endText) as End)
  const notices = [...before, ...last]
  const active = header !== undefined && textAt(header, 'active_run') === id ? header : undefined
  const usageByAgent = active === undefined ? usageOf(item) : joinUsages(usageOf(item), usageOf(active))
  return {
    id,
    ...(readJson(body) as Fixed),
    status: runStatusOf(item),
    ...(input === undefined ? {} : { input: readJson(input) as RunInput }),
    ...definedFields({
      mergedInto: textAt(item, 'merged_into'),
      mergedAs: textAt(item, 'merged_as'),
      startedAt: numberAt(item, 'started_at'),
      endedAt: numberAt(item, 'ended_at'),
      startGeneration: numberAt(item, 'started_gen'),
    }),
    rounds: numberAt(active ?? item, 'rounds') ?? 0,
    usage: sumOf(usageByAgent),
    usageByAgent,
    ...end,
    ...(notices.length === 0 ? {} : { notices }),
    ...definedFields({ decisions: numberAt(item, 'decisions') }),
  }
}
