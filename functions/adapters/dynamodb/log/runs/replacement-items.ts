import { definedFields } from '../../../../domain/defined-fields.ts'
import type { MessageRange } from '../../../../domain/context.ts'
import { TooltrailError } from '../../../../domain/errors.ts'
import { isCounted, withMessages, type SessionMessages } from '../../../../domain/session-messages.ts'
import type { Message } from '../../../../domain/messages/message.ts'
import {
  boundsOutside,
  isInRanges,
  supersededRanges,
  type IdBounds,
  type Replacement,
} from '../../../../domain/runs/replacement.ts'
import { isEnded } from '../../../../domain/runs/run.ts'
import { isUlid } from '../../../../domain/ids.ts'
import type { SessionHeader, SessionKey } from '../../../../domain/session.ts'
import { readJson } from '../../../../log/json/exact-json.ts'
import { numberAt, requiredText, textAt, toItem, type Item } from '../../attributes.ts'
import { absent, all, any, between, is, startsWith, type Condition } from '../../expressions.ts'
import { contextKey, HEADER, partitionOf, replacementKey, REPLACEMENT_PREFIX, RUN_PREFIX } from '../../keys.ts'
import type { Action } from '../../table.ts'
import { headerOf } from '../sessions/header-item.ts'
import { messagesOf } from '../sessions/message-numbers.ts'
import { readResolvedRun, type SessionRows } from '../sessions/session-rows.ts'
import { runIdOf, runStatusOf } from './run-item.ts'

/** Returns the replacements of a session, sorted by their runs. */
export async function findReplacements({ table }: SessionRows, key: SessionKey): Promise<Replacement[]> {
  const found: Replacement[] = []
  const keys = all(is('pk', partitionOf(key)), startsWith('sk', REPLACEMENT_PREFIX))
  for await (const item of table.query({ keys })) found.push(replacementOf(item))
  return found
}

/** Whether the log ends with a superseded message. */
export async function endsSuperseded(rows: SessionRows, key: SessionKey, { head }: SessionHeader): Promise<boolean> {
  const ranges = supersededRanges(await findReplacements(rows, key))
  return head !== undefined && isInRanges(ranges, head)
}

/** Returns the replacement of an item. */
export function replacementOf(item: Item): Replacement {
  const [from, through] = [textAt(item, 'first'), textAt(item, 'last')]
  return {
    by: requiredText(item, 'sk').slice(REPLACEMENT_PREFIX.length),
    from: requiredText(item, 'start'),
    ...(from === undefined || through === undefined ? {} : { messages: { from, through } }),
  }
}

/** Returns the action that stores a replacement. */
export const putReplacement = (key: SessionKey, { by, from, messages }: Replacement): Action => ({
  put: toItem({
    ...replacementKey(key, by),
    start: from,
    ...definedFields({ first: messages?.from, last: messages?.through }),
  }),
  when: absent('pk'),
})

/** A replacement that a session accepts, unless the session changes before the write. */
export interface Replacing {
  /** The counts and times of the session's messages without the superseded ones. */
  readonly left: SessionMessages
  /** Returns the actions that store the replacement, besides the change of the header. */
  actions(by: string): readonly Action[]
}

/** Prepares the replacement of the run that `replaces` names. Rejects if that run cannot be replaced now. */
export async function prepareReplacement(
  rows: SessionRows,
  key: SessionKey,
  header: Item,
  replaces: string,
): Promise<Replacing> {
  const { activeRun, queued } = headerOf(header)
  const run = isUlid(replaces) ? await readResolvedRun(rows, key, replaces) : undefined
  if (run === undefined) throw new TooltrailError('run_not_found', `session ${key.session} has no run ${replaces}`)
  const from = runIdOf(run)
  if (activeRun !== undefined || queued > 0 || !isEnded(runStatusOf(run)))
    throw new TooltrailError('session_busy', `session ${key.session} has a run that has not ended`, { retryable: true })
  const [first, context] = await Promise.all([firstMessageFrom(rows, key, from), rows.table.read(contextKey(key))])
  const covered = context && textAt(context, 'through')
  if (first !== undefined && first <= (covered ?? ''))
    throw new TooltrailError('summarised', `the summary of session ${key.session} covers run ${from}`)
  // A summary that a person requests does not change the header, so the write also checks the summary's item.
  const isSummarisedAsRead = covered === undefined ? any(absent('pk'), absent('through')) : is('through', covered)
  const { left, put } = await replaceFrom(rows, key, header, { from, first })
  return { left, actions: (by) => [{ check: contextKey(key), when: isSummarisedAsRead }, put(by)] }
}

/** Prepares the replacement of the run `from` and all later runs by an imported run. */
export async function prepareImported(
  rows: SessionRows,
  key: SessionKey,
  header: Item,
  from: string,
): Promise<Replacing> {
  const { left, put } = await replaceFrom(rows, key, header, { from, first: await firstMessageFrom(rows, key, from) })
  return { left, actions: (by) => [put(by)] }
}

async function replaceFrom(
  rows: SessionRows,
  key: SessionKey,
  header: Item,
  { from, first }: { readonly from: string; readonly first: string | undefined },
): Promise<{ readonly left: SessionMessages; readonly put: (by: string) => Action }> {
  const head = textAt(header, 'head')
  const messages = first === undefined || head === undefined ? undefined : { from: first, through: head }
  const left = messages === undefined ? messagesOf(header) : await messagesLeft(rows, key, header, messages)
  return { left, put: (by) => putReplacement(key, { by, from, ...definedFields({ messages }) }) }
}

/** Returns the first message of this run or of a later run. */
async function firstMessageFrom({ table }: SessionRows, key: SessionKey, from: string): Promise<string | undefined> {
  const runs = all(is('pk', partitionOf(key)), between('sk', RUN_PREFIX + from, HEADER))
  for await (const run of table.query({ keys: runs, pageSize: 2 })) {
    // Skips runs without messages of their own: runs that were cancelled in the queue, and merged runs.
    if (!requiredText(run, 'sk').startsWith(RUN_PREFIX) || numberAt(run, 'started_at') === undefined) continue
    const after = textAt(run, 'since') ?? LOWEST
    for await (const message of table.query({ keys: idsWithin(key, { after }), pageSize: 2 })) {
      const id = requiredText(message, 'sk')
      if (id > after) return id
    }
  }
  return undefined
}

/** Reads the counts and times of the messages that are not superseded after this replacement. */
async function messagesLeft(
  rows: SessionRows,
  key: SessionKey,
  header: Item,
  messages: MessageRange,
): Promise<SessionMessages> {
  const before = await findReplacements(rows, key)
  const added = { by: HIGHEST, from: HIGHEST, messages }
  const outside = boundsOutside(supersededRanges([...before, added]), {})
  const [superseded, first, last] = await Promise.all([
    countOutside(rows, key, messages.from, boundsOutside(supersededRanges(before), {})),
    messagesAt(rows, key, outside, 'first'),
    messagesAt(rows, key, outside, 'last'),
  ])
  return { ...withMessages({ count: 0 }, [...first, ...last]), count: messagesOf(header).count - superseded }
}

/**
 * Counts the messages within these bounds whose ids are not below `first`. Includes only messages that the session's
 * message count includes.
 */
async function countOutside(
  { table }: SessionRows,
  key: SessionKey,
  first: string,
  outside: readonly IdBounds[],
): Promise<number> {
  let count = 0
  for (const bounds of outside) {
    if (bounds.before !== undefined && bounds.before <= first) continue
    const keys = idsWithin(key, bounds, first)
    for await (const item of table.query({ keys, filter: any(is('role', 'user'), is('role', 'assistant')) })) {
      if (!isInside(requiredText(item, 'sk'), bounds)) continue
      const body = textAt(item, 'body')
      // A body in the output store is not read here. Its message is counted, although it may belong to a member: nearly
      // all such messages belong to the leader.
      if (body === undefined || isCounted(readJson(body) as Message)) count++
    }
  }
  return count
}

async function messagesAt(
  { table, bodies }: SessionRows,
  key: SessionKey,
  outside: readonly IdBounds[],
  end: 'first' | 'last',
): Promise<Message[]> {
  const items: Item[] = []
  for (const bounds of end === 'first' ? outside : outside.toReversed())
    for await (const item of table.query({
      keys: idsWithin(key, bounds),
      descending: end === 'last',
      pageSize: MESSAGES_READ,
    })) {
      if (items.length >= MESSAGES_READ) break
      if (isInside(requiredText(item, 'sk'), bounds)) items.push(item)
    }
  const texts = await Promise.all(items.map((item) => bodies.read(key, item, 'body')))
  return texts.flatMap((text) => (text === undefined ? [] : [readJson(text) as Message]))
}

/** Number of messages that are read at each end of a log to find the times of its first and its last message. */
const MESSAGES_READ = 20
/** Ids of messages sort between these bounds. */
const [LOWEST, HIGHEST] = ['0', 'Z'.repeat(27)]

const isInside = (id: string, { after, before }: IdBounds): boolean =>
  (after === undefined || id > after) && (before === undefined || id < before)

/** Returns the condition that selects the ids within these bounds, including the bounds themselves. */
function idsWithin(key: SessionKey, { after = LOWEST, before = HIGHEST }: IdBounds, from = LOWEST): Condition {
  const start = after > from ? after : from
  return all(is('pk', partitionOf(key)), between('sk', start, before < start ? start : before))
}
