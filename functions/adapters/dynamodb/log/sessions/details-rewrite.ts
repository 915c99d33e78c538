import { isDeepStrictEqual } from 'node:util'
import { TooltrailError } from '../../../../domain/errors.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { all } from '../../expressions.ts'
import { detailsKey, headerKey } from '../../keys.ts'
import { listedHeader } from './adoption.ts'
import { activeAt, live, liveHeader } from './header-item.ts'
import { relist } from './list-entries.ts'
import { detailsOf, listedAs, replaceDetails, storeDetails, type Details } from './session-details.ts'
import type { SessionRows } from './session-rows.ts'

const ATTEMPTS = 16

/** Rewrites the details of a session, unless nothing changes. `isActivity`: this is the session's last activity. */
export async function rewriteDetails(
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
