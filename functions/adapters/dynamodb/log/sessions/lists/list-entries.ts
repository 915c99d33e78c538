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
 * A session has places in several lists. Its header is the entry of the tenant's and of the owner's list. The other entries are
 * items in its partition, `#LIST#…`: each has both `group` and `owner_group`, so that one item is an entry of two lists. All
 * follow from the header, and one transaction writes them with it. The header counts these transactions in `list_rev`.
 */

/** The fields of a session by which lists find and sort it. Texts are given by their prints (`hashOf`). */
export interface Listed {
  readonly key: SessionKey
  readonly agent: string
  readonly owner?: string | undefined
  readonly folder?: string | undefined
  readonly source?: string | undefined
  /** Status of the run that was accepted last. */
  readonly runStatus?: RunStatus | undefined
  /** The last status that was neither `queued` nor `running`: lists by `createdAt` keep it meanwhile. */
  readonly settled?: RunStatus | undefined
  readonly createdAt: number
  readonly updatedAt: number
  /** Absent without messages. During a run: as of its start. */
  readonly lastMessageAt?: number | undefined
}

export type ListedChange = Partial<Omit<Listed, 'key' | 'settled'>>

/** Sessions that an earlier version stored have no entry but their header, in lists of their own. */
export const isListed = (header: Item): boolean => numberAt(header, 'list_rev') !== undefined

/** The fields for lists that a header holds. */
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

/** The first entries of a session: fields of its header, and the other items. */
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

/** Moves a session in the lists. Nothing is written if nothing changes there. */
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

/** Fields of a header that only lists use. A deletion forgets them at once; it removes the other entries with the rows. */
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

/** The places of one item. */
interface Entry {
  readonly group: string | undefined
  readonly owner_group: string | undefined
  readonly at: string
  /** Projected: filters by agent compare it without reading the session. */
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

/** The entries that are items of their own, by their names. */
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
