import type { RunStatus } from '../../../../../domain/runs/run.ts'
import type { SessionKey } from '../../../../../domain/session.ts'
import { numberAt, requiredText, textAt, toItem, type Item, type Scalar } from '../../../attributes.ts'
import { is } from '../../../expressions.ts'
import { listKey, sessionOf, timeOfPlace } from '../../../keys.ts'
import type { Action } from '../../../table.ts'
import { NO_WRITE, type HeaderWrite } from '../header-write.ts'
import { listPlace } from './list-place.ts'
import { isSilentGroup, listGroup, type ListClass, type ListField } from './list-groups.ts'

/*
 * A session has entries in several lists. Its header is the entry in the lists of its tenant and its owner. The other
 * entries are items in its partition, `#LIST#…`. Each of them has both `group` and `owner_group`, so that one item is
 * an entry of two lists.
 * All entries are derived from the header, and one transaction writes them with it. The header counts these
 * transactions in `list_rev`.
 */

/** The fields by which lists find and sort a session. Texts are replaced by their hashes (`hashOf`). */
export interface Listed {
  readonly key: SessionKey
  readonly agent: string
  readonly owner?: string | undefined
  readonly folder?: string | undefined
  readonly source?: string | undefined
  /** Status of the latest accepted run. */
  readonly runStatus?: RunStatus | undefined
  /**
   * The latest status other than `queued` and `running`. While a run is queued or running, lists by `createdAt` use
   * this status.
   */
  readonly settled?: RunStatus | undefined
  readonly createdAt: number
  readonly updatedAt: number
  /** Time of the latest message; undefined without messages. It does not change between a run's start and its end. */
  readonly lastMessageAt?: number | undefined
}

export type ListedChange = Partial<Omit<Listed, 'key' | 'settled'>>

/**
 * Whether the session has list entries. A session of an earlier version has none: its header
 * itself is an entry, in separate lists.
 */
export const isListed = (header: Item): boolean => numberAt(header, 'list_rev') !== undefined

/** Returns the list fields of a header. */
function listedOf(header: Item): Listed {
  const time = timeOfPlace(requiredText(header, 'at'))
  return {
    key: sessionOf(header),
    agent: requiredText(header, 'agent_print'),
    owner: textAt(header, 'owner_print'),
    folder: textAt(header, 'folder_print'),
    source: textAt(header, 'source_print'),
    runStatus: textAt(header, 'listed') as RunStatus | undefined,
    settled: textAt(header, 'settled') as RunStatus | undefined,
    createdAt: numberAt(header, 'created') ?? time,
    updatedAt: numberAt(header, 'updated') ?? time,
    lastMessageAt: isSilentGroup(requiredText(header, 'group')) ? undefined : time,
  }
}

/** Returns the first entries of a session: fields of its header, and the other items. */
export function firstListing(listed: Listed): {
  fields: Readonly<Record<string, Scalar | undefined>>
  actions: Action[]
} {
  const entries = entriesOf(listed)
  return {
    fields: { ...fieldsOf(listed), list_rev: 1 },
    actions: [...entries].map(([name, entry]) => ({ put: toItem({ ...listKey(listed.key, name), ...entry }) })),
  }
}

/** Returns the write that updates the session's entries. It is empty if no entry changes. */
export function relist(header: Item, to: ListedChange): HeaderWrite {
  const before = listedOf(header)
  const after = settledBy({ ...before, ...to })
  const [fields, stored] = [fieldsOf(after), fieldsOf(before)]
  const changed = Object.entries(fields).filter(([name, value]) => stored[name] !== value)
  if (changed.length === 0) return NO_WRITE
  const revision = numberAt(header, 'list_rev') ?? 0
  return {
    when: [is('list_rev', revision)],
    change: {
      set: { ...Object.fromEntries(changed), list_rev: revision + 1 },
      remove: changed.flatMap(([name, value]) => (value === undefined ? [name] : [])),
    },
    actions: moves(before.key, entriesOf(before), entriesOf(after)),
  }
}

/**
 * Header fields that only lists use. A deletion removes these fields at once. It removes the session's other list
 * entries later, together with the rows.
 */
export const LIST_FIELDS = [
  ...['group', 'owner_group', 'at', 'agent_print', 'folder_print', 'source_print'],
  ...['listed', 'settled', 'created', 'updated', 'list_rev'],
]

const settledBy = (listed: Listed): Listed => {
  const { runStatus } = listed
  return runStatus === undefined || runStatus === 'queued' || runStatus === 'running'
    ? listed
    : { ...listed, settled: runStatus }
}

/** The positions of one item in the indexes. */
interface Entry {
  readonly group: string | undefined
  readonly owner_group: string | undefined
  readonly at: string
  /** Projected into the index, so that filters by agent need not read the session. */
  readonly agent_print: string
}

const fieldsOf = (listed: Listed): Readonly<Record<string, Scalar | undefined>> => ({
  ...entryOf(listed, 'tenant', 'owner', mainClass(listed)),
  owner_print: listed.owner,
  folder_print: listed.folder,
  source_print: listed.source,
  listed: listed.runStatus,
  settled: listed.settled,
  created: listed.createdAt,
  updated: listed.updatedAt,
})

function mainClass({ lastMessageAt, updatedAt, createdAt }: Listed): ListClass {
  if (lastMessageAt === undefined) return updatedAt === createdAt ? 'silent' : 'silent_apart'
  return lastMessageAt === updatedAt ? 'both' : 'apart'
}

/** Returns the entries that are separate items, by name. */
function entriesOf(listed: Listed): ReadonlyMap<string, Entry> {
  const main = mainClass(listed)
  const isApart = main === 'apart' || main === 'silent_apart'
  const kinds: ListClass[] = [main, ...(isApart ? (['updated'] as const) : []), 'created']
  const entries = new Map<string, Entry>()
  for (const kind of kinds) {
    const suffix = kind === main ? '' : `.${kind}`
    if (kind !== main) entries.set(`main${suffix}`, entryOf(listed, 'tenant', 'owner', kind))
    entries.set(`run${suffix}`, entryOf(listed, 'agent', 'runStatus', kind))
    const work = entryOf(listed, 'folder', 'source', kind)
    if (work.group !== undefined || work.owner_group !== undefined) entries.set(`work${suffix}`, work)
  }
  return entries
}

function entryOf(listed: Listed, field: ListField, ownerField: ListField, kind: ListClass): Entry {
  const { key, agent } = listed
  const group = (of: ListField): string | undefined => {
    const value = valueOf(listed, of, kind)
    return value === undefined ? undefined : listGroup(key, of, value, kind)
  }
  const at = listPlace(timeIn(listed, kind), key.session)
  return { group: group(field), owner_group: group(ownerField), at, agent_print: agent }
}

function valueOf(listed: Listed, field: ListField, kind: ListClass): string | undefined {
  if (field === 'tenant') return ''
  return field === 'runStatus' && kind === 'created' ? listed.settled : listed[field]
}

function timeIn({ createdAt, updatedAt, lastMessageAt }: Listed, kind: ListClass): number {
  if (kind === 'updated') return updatedAt
  return kind === 'both' || kind === 'apart' ? (lastMessageAt ?? updatedAt) : createdAt
}

function moves(key: SessionKey, before: ReadonlyMap<string, Entry>, after: ReadonlyMap<string, Entry>): Action[] {
  const puts = [...after].flatMap(([name, entry]): Action[] =>
    JSON.stringify(before.get(name)) === JSON.stringify(entry)
      ? []
      : [{ put: toItem({ ...listKey(key, name), ...entry }) }],
  )
  const gone = [...before.keys()].filter((name) => !after.has(name))
  return [...puts, ...gone.map((name): Action => ({ remove: listKey(key, name) }))]
}
