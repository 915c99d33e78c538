import { isDeepStrictEqual } from 'node:util'
import { titleCompletion } from '../../../../domain/context.ts'
import { definedFields } from '../../../../domain/defined-fields.ts'
import { replacesTitle } from '../../../../domain/session-title.ts'
import type { SessionAbout, SessionChange, TitleByModel } from '../../../../ports/session-store.ts'
import { countedInRun } from '../usage/usage-counters.ts'
import { countUsage } from '../usage/usage-items.ts'
import { TooltrailError } from '../../../../domain/errors.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { all, present } from '../../expressions.ts'
import { detailsKey, headerKey } from '../../keys.ts'
import { listedHeader } from './adoption/adoption.ts'
import { activeAt, live, liveHeader } from './header-item.ts'
import { relist } from './lists/list-entries.ts'
import { detailsOf, listedAs, replaceDetails, storeDetails, type Details } from './session-details.ts'
import type { SessionRows } from './session-rows.ts'

/** Applies a person's change. It counts as activity. */
export const changeSession = (rows: SessionRows, key: SessionKey, change: SessionChange): Promise<void> =>
  rewriteDetails(rows, key, (details) => changedDetails(details, change), true)

/** Permanently restricts the session to its owner. */
export const bindSession = (rows: SessionRows, key: SessionKey): Promise<void> =>
  rewriteDetails(rows, key, (details) => ({ ...details, ownerBound: true }))

/** Stores a program's description of the session. */
export const describeSession = (rows: SessionRows, key: SessionKey, about: SessionAbout): Promise<void> =>
  rewriteDetails(rows, key, (details) => describedDetails(details, about))

/**
 * Stores a title that a model has generated. The usage is counted first, because it was spent even if the title is not
 * stored.
 */
export async function recordTitle(
  rows: SessionRows,
  key: SessionKey,
  { title, work, account }: TitleByModel,
): Promise<void> {
  const completion = titleCompletion(work)
  const counted = countUsage(key, completion, account)
  const isCounted = { update: detailsKey(key), when: present('pk'), change: { add: countedInRun(completion) } }
  const refusal = await rows.table.write([{ check: headerKey(key), when: live }, isCounted, ...counted])
  if (refusal !== undefined) await rows.table.write(counted)
  else if (title !== undefined)
    await describeSession(rows, key, { title: { text: title, source: 'model' } }).catch((error: unknown) => {
      // The error is ignored if the session was deleted after the usage was counted.
      if (!(error instanceof TooltrailError) || error.code !== 'session_not_found') throw error
    })
}

const ATTEMPTS = 16

/**
 * Rewrites the details of a session, unless nothing changes. `isActivity`: the change counts as the session's last
 * activity.
 */
async function rewriteDetails(
  rows: SessionRows,
  key: SessionKey,
  change: (details: Details) => Details,
  isActivity = false,
): Promise<void> {
  const { table, clock } = rows
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const [found, item] = await table.readMany([headerKey(key), detailsKey(key)])
    const header = await listedHeader(rows, key, liveHeader(found, key))
    const before = await detailsOf(rows, key, item)
    const next = change(before)
    if (!isActivity && isDeepStrictEqual(next, before)) return
    const body = await storeDetails(rows, key, next)
    const updatedAt = isActivity ? { updatedAt: activeAt(header, clock.now()) } : {}
    const list = relist(header, { ...listedAs(next), ...updatedAt })
    const refusal = await table.write([
      list.when.length === 0
        ? { check: headerKey(key), when: live }
        : { update: headerKey(key), when: all(live, ...list.when), change: list.change },
      replaceDetails(key, item, body),
      ...list.actions,
    ])
    if (refusal === undefined) return
  }
  throw new TooltrailError('storage_failed', `session ${key.session} kept changing during a write`, { retryable: true })
}

/** Returns the details after a person's change. */
function changedDetails(details: Details, change: SessionChange): Details {
  const { user, title, titleSource, instructions, ...rest } = details
  const after = <Value>(to: Value | null | undefined, before: Value | undefined): Value | undefined =>
    to === undefined ? before : (to ?? undefined)
  return {
    ...rest,
    agent: change.agent ?? details.agent,
    metadata: change.metadata ?? details.metadata,
    ...definedFields({
      user: after(change.user, user),
      title: after(change.title, title),
      titleSource: change.title === undefined ? titleSource : change.title === null ? undefined : 'given',
      instructions: after(change.instructions, instructions),
    }),
  }
}

/** Returns the details with a program's description. */
function describedDetails(details: Details, { title, metadata }: SessionAbout): Details {
  const isNew = title !== undefined && replacesTitle(title.source, details.titleSource)
  const titled = isNew ? { title: title.text, titleSource: title.source } : {}
  return { ...details, ...titled, metadata: { ...details.metadata, ...metadata } }
}
