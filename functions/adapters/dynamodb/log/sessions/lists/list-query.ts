import type { SessionFilter, SessionSort } from '../../../../../domain/session-filter.ts'
import { requiredText, type Item } from '../../../attributes.ts'
import { all, between, is } from '../../../expressions.ts'
import { GROUP_INDEX, OWNER_INDEX, ownerGroup, placeAt, hashOf, sessionsGroups } from '../../../keys.ts'
import type { Table } from '../../../table.ts'
import { hashOfPlace, type ListCursor } from './list-place.ts'
import { indexOfField, listGroups, type ListClass, type ListField } from './list-groups.ts'

/** An entry of a list in the index. */
export interface ListEntry {
  readonly item: Item
  readonly at: string
  /** Whether the entry is a header, which shows the active run. */
  readonly isHeader: boolean
  /**
   * Whether an earlier version stored the session, and it is not adopted yet. Only the lists of its tenant and its
   * owner contain it.
   */
  readonly isOld: boolean
  /** Whether the session has no messages. Such sessions follow all others. */
  readonly isSilent: boolean
}

/** The condition that selects the list. The other conditions are checked entry by entry. */
export interface LeadingCondition {
  readonly field: ListField
  readonly value: string
}

/** One partition that is read for a page. */
interface Part extends Pick<ListEntry, 'isHeader' | 'isOld' | 'isSilent'> {
  readonly index: string
  readonly group: string
}

/**
 * Classes of entries that are read for each sort order. Entries whose classes are in one inner list are merged by time.
 * The entries of the next inner list follow.
 */
const CLASSES: { readonly [sort in SessionSort]: readonly (readonly ListClass[])[] } = {
  last_message_at: [
    ['both', 'apart'],
    ['silent', 'silent_apart'],
  ],
  updated_at: [['both', 'silent', 'updated']],
  created_at: [['created']],
}

/** Returns the condition that probably matches the fewest sessions. */
export function leadingCondition(filter: SessionFilter): LeadingCondition {
  const { owner, agent, runStatus, metadata = [], sort } = filter
  const exact = (key: string): string | undefined => metadata.find((one) => one.key === key && !one.isPrefix)?.value
  const [folder, source] = [exact('folder'), exact('source')]
  if (folder !== undefined) return { field: 'folder', value: hashOf(folder) }
  if (owner !== undefined) return { field: 'owner', value: hashOf(owner) }
  if (source !== undefined) return { field: 'source', value: hashOf(source) }
  if (agent !== undefined) return { field: 'agent', value: hashOf(agent) }
  // Lists by `createdAt` cannot select `queued` or `running`, because their entries keep the latest status other than
  // these two.
  const isMoving = sort === 'created_at' && (runStatus === 'queued' || runStatus === 'running')
  if (runStatus !== undefined && !isMoving) return { field: 'runStatus', value: runStatus }
  return { field: 'tenant', value: '' }
}

/** Yields the entries of a list in order, starting after the cursor. */
export async function* listEntries(
  table: Table,
  filter: SessionFilter,
  leading: LeadingCondition,
  cursor: ListCursor | undefined,
  pageSize: number,
): AsyncGenerator<ListEntry> {
  const { sort = 'last_message_at', order = 'desc', since, until } = filter
  const isBounded = since !== undefined || until !== undefined
  for (const [piece, kinds] of CLASSES[sort].entries()) {
    const isSilent = piece === 1
    if ((isSilent && isBounded) || (!isSilent && cursor?.isSilent === true)) continue
    const start = cursor?.isSilent === isSilent ? cursor : undefined
    const parts = [
      ...kinds.flatMap((kind) => partsOf(filter.tenant, leading, kind, isSilent)),
      ...(isSilent ? [] : oldParts(filter)),
    ]
    const [low, high] = rangeOf(filter, start)
    const lists = parts.map((part) => entriesOf(table, part, { low, high, isDescending: order === 'desc', pageSize }))
    const merged = inOrder(lists, order)
    yield* start === undefined ? merged : behind(merged, start)
  }
}

const partsOf = (tenant: string, { field, value }: LeadingCondition, kind: ListClass, isSilent: boolean): Part[] =>
  listGroups(tenant, field, value, kind).map((group) => ({
    index: indexOfField(field),
    group,
    isHeader: (field === 'tenant' || field === 'owner') && kind !== 'updated' && kind !== 'created',
    isOld: false,
    isSilent,
  }))

/** Returns the partitions of sessions that are not adopted yet. */
const oldParts = ({ tenant, owner }: SessionFilter): Part[] =>
  (owner === undefined ? sessionsGroups(tenant) : [ownerGroup(tenant, owner)]).map((group) => ({
    index: owner === undefined ? GROUP_INDEX : OWNER_INDEX,
    group,
    isHeader: true,
    isOld: true,
    isSilent: false,
  }))

/** Sorts after every possible position. */
const LAST = '\uffff'

/** Returns the first and last position to read, both included. */
function rangeOf({ since, until, order = 'desc' }: SessionFilter, cursor: ListCursor | undefined): [string, string] {
  const low = since === undefined ? '0' : placeAt(since, '')
  const high = until === undefined ? LAST : placeAt(until, LAST)
  if (cursor === undefined) return [low, high]
  if (order === 'asc') return [cursor.place > low ? cursor.place : low, high]
  const last = cursor.oldHash === undefined ? cursor.place : `${cursor.place}${LAST}`
  return [low, last < high ? last : high]
}

interface Reading {
  readonly low: string
  readonly high: string
  readonly isDescending: boolean
  readonly pageSize: number
}

async function* entriesOf(
  table: Table,
  { index, group, ...about }: Part,
  { low, high, isDescending, pageSize }: Reading,
): AsyncGenerator<ListEntry> {
  if (low > high) return
  const keys = all(is(index === GROUP_INDEX ? 'group' : 'owner_group', group), between('at', low, high))
  for await (const item of table.query({ index, keys, descending: isDescending, pageSize }))
    yield { item, at: requiredText(item, 'at'), ...about }
}

/** Merges lists that are all sorted in this order. */
async function* inOrder(lists: readonly AsyncGenerator<ListEntry>[], order: 'asc' | 'desc'): AsyncGenerator<ListEntry> {
  const heads = await Promise.all(lists.map(async (list) => ({ list, next: await list.next() })))
  for (;;) {
    let first: (typeof heads)[number] | undefined
    let place = ''
    for (const head of heads) {
      if (head.next.done === true) continue
      const { at } = head.next.value
      if (first !== undefined && (order === 'desc' ? at <= place : at >= place)) continue
      first = head
      place = at
    }
    if (first === undefined || first.next.done === true) return
    yield first.next.value
    first.next = await first.list.next()
  }
}

/** Maximum number of entries with equal times that are held back while the cursor's entry is searched among them. */
const MAX_ALIKE = 1_000

/**
 * Yields the entries after the cursor's entry. If the cursor's entry has moved, it is not found. All entries with its
 * time are then yielded, so that none is skipped.
 */
async function* behind(entries: AsyncGenerator<ListEntry>, { place, oldHash }: ListCursor): AsyncGenerator<ListEntry> {
  let alike: ListEntry[] = []
  for await (const entry of entries) {
    if (entry.at === place) continue
    if (oldHash !== undefined && entry.at.startsWith(place) && alike.length < MAX_ALIKE) {
      alike = entry.isOld && hashOfPlace(entry.at, true) === oldHash ? [] : [...alike, entry]
      continue
    }
    yield* alike
    alike = []
    yield entry
  }
  yield* alike
}
