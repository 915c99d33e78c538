import { isCounted, withMessages, type SessionMessages } from '../../../../../domain/session-messages.ts'
import type { Message } from '../../../../../domain/messages/message.ts'
import type { SessionKey } from '../../../../../domain/session.ts'
import { openingOfMessages, type Opening } from '../../../../../log/title.ts'
import { numberAt, requiredText, textAt, type Item } from '../../../attributes.ts'
import { absent, all, between, is, together, type Condition } from '../../../expressions.ts'
import { detailsKey, headerKey, partitionOf } from '../../../keys.ts'
import { headIs, live, tailIs, updatedAt } from '../header-item.ts'
import { firstListing } from '../lists/list-entries.ts'
import { openSession } from '../opening-item.ts'
import { runStatusOf } from '../../runs/run-item.ts'
import { detailsOf, listedAs, placedDetails, replaceDetails, storeDetails } from '../session-details.ts'
import { readResolvedRun, type SessionRows } from '../session-rows.ts'
import { readJson } from '../../../../../log/json/exact-json.ts'

/**
 * Number of messages that are read at each end of a log. These messages show the opening, and the times of the first
 * and the last message.
 */
const MESSAGES_READ = 20
/**
 * Maximum number of messages that are read for the count. If the log has more, the count is an estimate: at least two
 * per run.
 */
const MAX_COUNTED = 2_000
/** Ids of messages sort between these bounds. */
const [LOWEST, HIGHEST] = ['0', 'Z'.repeat(27)]

/** Creates the list entries of a session. Writes nothing if the session has changed since it was read. */
export async function adopt(rows: SessionRows, key: SessionKey, header: Item): Promise<void> {
  const { table } = rows
  const tail = textAt(header, 'tail')
  const [item, run, { messages, opening }] = await Promise.all([
    table.read(detailsKey(key)),
    tail === undefined ? undefined : readResolvedRun(rows, key, tail),
    outlineOf(rows, key, header, MAX_COUNTED),
  ])
  const stored = await detailsOf(rows, key, item)
  const details = placedDetails(stored)
  if (details !== stored) {
    // The details need a separate write. The write below may change their item too, to store the opening's title, and
    // one write cannot change an item twice.
    const placed = replaceDetails(key, item, await storeDetails(rows, key, details))
    if ((await table.write([{ check: headerKey(key), when: live }, placed])) !== undefined) return
  }
  const { fields, actions } = firstListing({
    key,
    ...listedAs(details),
    runStatus: run && runStatusOf(run),
    createdAt: details.createdAt,
    updatedAt: updatedAt(header),
    lastMessageAt: messages.lastAt,
  })
  const opened = openSession(key, header, opening)
  const counted = { set: { first_at: messages.firstAt, last_at: messages.lastAt }, add: { messages: messages.count } }
  const isUnchanged = [headIs(textAt(header, 'head')), is('at', requiredText(header, 'at')), tailIs(tail)]
  await table.write([
    {
      update: headerKey(key),
      when: all(live, absent('list_rev'), ...isUnchanged, ...opened.when),
      change: together({ set: fields }, counted, opened.change),
    },
    ...actions,
    ...opened.actions,
  ])
}

/** Counts, times and title of a session, read from its log because its header has no counts. */
export interface Outline {
  readonly messages: SessionMessages
  readonly opening: Opening | undefined
}

/** Reads the outline of a log, from a limited number of rows. At most `mostCounted` messages are counted one by one. */
export async function outlineOf(rows: SessionRows, key: SessionKey, header: Item, mostCounted = 0): Promise<Outline> {
  if (textAt(header, 'head') === undefined) return { messages: { count: 0 }, opening: undefined }
  const first = await messagesAt(rows, key, 'first')
  const isWhole = first.length < MESSAGES_READ
  const ends = isWhole ? first : [...first, ...(await messagesAt(rows, key, 'last'))]
  const counted = isWhole ? first.filter(isCounted).length : await countMessages(rows, key, header, mostCounted)
  return { messages: { ...withMessages({ count: 0 }, ends), count: counted }, opening: openingOfMessages(first) }
}

const range = (key: SessionKey): Condition => all(is('pk', partitionOf(key)), between('sk', LOWEST, HIGHEST))

async function messagesAt(rows: SessionRows, key: SessionKey, end: 'first' | 'last'): Promise<Message[]> {
  const items: Item[] = []
  for await (const item of rows.table.query({
    keys: range(key),
    descending: end === 'last',
    pageSize: MESSAGES_READ,
  })) {
    items.push(item)
    if (items.length >= MESSAGES_READ) break
  }
  const bodies = await Promise.all(items.map((item) => rows.bodies.read(key, item, 'body')))
  // The body has the immutable fields of a message, such as role, time and names. It also has the parts, except those
  // of tool messages.
  return bodies.flatMap((body) => (body === undefined ? [] : [readJson(body) as Message]))
}

async function countMessages({ table }: SessionRows, key: SessionKey, header: Item, most: number): Promise<number> {
  const estimate = 2 * (numberAt(header, 'runs') ?? 0)
  let count = 0
  let left = most
  for await (const item of most === 0 ? [] : table.query({ keys: range(key) })) {
    const body = textAt(item, 'body')
    // A body in the output store is not read here. Its message is counted, although it may belong to a member: nearly
    // all such messages belong to the leader.
    if (textAt(item, 'role') !== 'tool' && (body === undefined || isCounted(readJson(body) as Message))) count++
    if (--left === 0) break
  }
  return left > 0 && most > 0 ? count : Math.max(count, estimate)
}
