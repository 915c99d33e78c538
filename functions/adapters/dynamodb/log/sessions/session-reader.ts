import type { Session, SessionKey, SessionLabel, SessionTotals } from '../../../../domain/session.ts'
import { definedFields } from '../../../../domain/defined-fields.ts'
import type { SessionMessages } from '../../../../domain/session-messages.ts'
import { joinUsages, sumOf } from '../../../../domain/usage/usage.ts'
import { numberAt, textAt, type Item } from '../../attributes.ts'
import { contextKey, detailsKey, headerKey, runKey } from '../../keys.ts'
import type { Outline } from './adoption/adopt.ts'
import { summaryOf } from './context-item.ts'
import { isLive, updatedAt } from './header-item.ts'
import { isListed } from './lists/list-entries.ts'
import { messagesOf } from './message-numbers.ts'
import { runIdOf, runStatusOf } from '../runs/run-item.ts'
import { detailsOf, placedDetails, titledDetails, type Details } from './session-details.ts'
import type { SessionRows } from './session-rows.ts'
import { usageOf } from '../usage/usage-counters.ts'

/** A session. Includes the outline of its log if an earlier version stored the session and it is not adopted yet. */
export interface ReadSession {
  readonly session: Session
  readonly outline?: Outline
}

/** Returns the live sessions of these keys, in order, read strongly. */
export async function readSessions(rows: SessionRows, keys: readonly SessionKey[]): Promise<ReadSession[]> {
  const { table } = rows
  const items = await table.readMany(keys.flatMap((key) => [headerKey(key), detailsKey(key), contextKey(key)]))
  const found = keys.flatMap((key, place) => {
    const [header, details, context] = items.slice(place * 3, place * 3 + 3)
    return isLive(header) ? [{ key, header, details, context }] : []
  })
  const tails = await readLatestRuns(
    rows,
    found.map(({ key, header }) => ({ key, id: textAt(header, 'tail') })),
  )
  return Promise.all(
    found.map(async ({ key, header, details: item, context }, place) => {
      const run = tails[place]
      const summary = await summaryOf(rows, key, context)
      const { details: shown, outline } = await shownDetails(rows, key, { header, item })
      const session = {
        tenant: key.tenant,
        session: key.session,
        ...shown,
        updatedAt: updatedAt(header),
        ...(run === undefined ? {} : { run: { id: runIdOf(run), status: runStatusOf(run) } }),
        totals: totalsOf(header, item ?? {}),
        messages: numbersOf(header, outline),
        ...definedFields({ summary }),
      }
      return { session, ...definedFields({ outline }) }
    }),
  )
}

/** Returns the labels of live sessions, read strongly. */
export async function readLabels(
  rows: SessionRows,
  tenant: string,
  sessions: readonly string[],
): Promise<ReadonlyMap<string, SessionLabel>> {
  const keys = sessions.map((session): SessionKey => ({ tenant, session }))
  const items = await rows.table.readMany(keys.flatMap((key) => [headerKey(key), detailsKey(key)]))
  const labels = await Promise.all(
    keys.map(async (key, place): Promise<[string, SessionLabel][]> => {
      const [header, item] = items.slice(place * 2, place * 2 + 2)
      if (!isLive(header)) return []
      const { title, metadata } = (await shownDetails(rows, key, { header, item })).details
      return [[key.session, { metadata, ...definedFields({ title }) }]]
    }),
  )
  return new Map(labels.flat())
}

/**
 * Returns the details of a session. For a session that is not adopted yet, returns the details that adoption would
 * store, and the outline of its log.
 */
async function shownDetails(
  rows: SessionRows,
  key: SessionKey,
  { header, item }: { readonly header: Item; readonly item: Item | undefined },
): Promise<{ readonly details: Details; readonly outline?: Outline }> {
  const stored = titledDetails(await detailsOf(rows, key, item), item)
  if (isListed(header)) return { details: stored }
  const outline = await (await import('./adoption/adopt.ts')).outlineOf(rows, key, header)
  const details = placedDetails(stored)
  if (details.title !== undefined || outline.opening === undefined) return { details, outline }
  return { details: { ...details, title: outline.opening.title, titleSource: 'input' }, outline }
}

const numbersOf = (header: Item, outline: Outline | undefined): SessionMessages =>
  outline?.messages ?? messagesOf(header)

/** Reads the latest accepted run of each session, or the run that it was merged into. */
async function readLatestRuns(
  { table }: SessionRows,
  wanted: readonly { readonly key: SessionKey; readonly id: string | undefined }[],
): Promise<(Item | undefined)[]> {
  const read = async (ids: readonly (string | undefined)[]): Promise<(Item | undefined)[]> => {
    const keys = wanted.flatMap(({ key }, place) => {
      const id = ids[place]
      return id === undefined ? [] : [{ place, key: runKey(key, id) }]
    })
    const items = await table.readMany(keys.map(({ key }) => key))
    const result: (Item | undefined)[] = []
    for (const [at, { place }] of keys.entries()) result[place] = items[at]
    return result
  }
  const latest = await read(wanted.map(({ id }) => id))
  const targets = await read(wanted.map((_, place) => latest[place] && textAt(latest[place], 'merged_into')))
  return wanted.map((_, place) => targets[place] ?? latest[place])
}

/** Returns the totals: ended runs are counted in the details, the active one in the header. */
function totalsOf(header: Item, details: Item): SessionTotals {
  const run = textAt(header, 'active_run')
  const isCounted = run === undefined || run === textAt(details, 'folded')
  const byAgent = isCounted ? usageOf(details) : joinUsages(usageOf(details), usageOf(header))
  return {
    runs: numberAt(header, 'runs') ?? 0,
    rounds: (numberAt(details, 'rounds') ?? 0) + (isCounted ? 0 : (numberAt(header, 'rounds') ?? 0)),
    usage: sumOf(byAgent),
    byAgent,
  }
}
