import type { SessionFilter, SessionSort } from '../../../../../domain/session-filter.ts'
import { requiredText, type Item } from '../../../attributes.ts'
import { all, between, is } from '../../../expressions.ts'
import { GROUP_INDEX, OWNER_INDEX, ownerGroup, placeAt, hashOf, sessionsGroups } from '../../../keys.ts'
import type { Table } from '../../../table.ts'
import { hashOfPlace, type ListCursor } from './list-place.ts'
import { indexOfField, listGroups, type ListClass, type ListField } from './list-groups.ts'

/** An entry of a list, as the index has it. */
export interface ListEntry {
  readonly item: Item
  readonly at: string
  /** It is a header: shows what runs. */
  readonly isHeader: boolean
  /** An earlier version stored the session, and it was not adopted: only its tenant and its owner lead to it. */
  readonly isOld: boolean
  /** Sessions without messages stand behind all others. */
  readonly isSilent: boolean
}

/** The condition that chooses the list; the entries of others are compared one by one. */
export interface LeadingCondition {
  readonly field: ListField
  readonly value: string
}

/** One partition that is read for a page. */
interface Part extends Pick<ListEntry, 'isHeader' | 'isOld' | 'isSilent'> {
  readonly index: string
  readonly group: string
}

/** Entries of one class by one time, sorted in one piece. */
const CLASSES: { readonly [sort in SessionSort]: readonly (readonly ListClass[])[] } = {
  last_message_at: [
    ['both', 'apart'],
    ['silent', 'silent_apart'],
  ],
  updated_at: [['both', 'silent', 'updated']],
  created_at: [['created']],
}

/** The condition that few sessions fulfil, most likely. */
export function leadingCondition(filter: SessionFilter): LeadingCondition {
  const { owner, agent, runStatus, metadata = [], sort } = filter
  const exact = (key: string): string | undefined => metadata.find((one) => one.key === key && !one.isPrefix)?.value
  const [folder, source] = [exact('folder'), exact('source')]
  if (folder !== undefined) return { field: 'folder', value: hashOf(folder) }
  if (owner !== undefined) return { field: 'owner', value: hashOf(owner) }
  if (source !== undefined) return { field: 'source', value: hashOf(source) }
  if (agent !== undefined) return { field: 'agent', value: hashOf(agent) }
  // Lists by `createdAt` have the last status that was neither of these.
  const isMoving = sort === 'created_at' && (runStatus === 'queued' || runStatus === 'running')
  if (runStatus !== undefined && !isMoving) return { field: 'runStatus', value: runStatus }
  return { field: 'tenant', value: '' }
}

/** The entries of a list in its order, from behind the cursor on. */
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

/** Sessions that were not adopted yet. */
const oldParts = ({ tenant, owner }: SessionFilter): Part[] =>
  (owner === undefined ? sessionsGroups(tenant) : [ownerGroup(tenant, owner)]).map((group) => ({
    index: owner === undefined ? GROUP_INDEX : OWNER_INDEX,
    group,
    isHeader: true,
    isOld: true,
    isSilent: false,
  }))

/** Sorts behind everything that a place holds. */
const LAST = '\uffff'

/** The places between which entries are read, both included. */
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

/** Several lists in the same order as one. */
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

/** Entries of one time that are kept until the cursor's own is found. */
const MAX_ALIKE = 1_000

/** The entries behind the cursor's own. If it is not found, because it has moved, none is left out. */
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
