import { isDeepStrictEqual } from 'node:util'
import { TooltrailError } from '../../../../domain/errors.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { numberAt } from '../../attributes.ts'
import { all, is } from '../../expressions.ts'
import { detailsKey, headerKey } from '../../keys.ts'
import type { Action } from '../../table.ts'
import { listedHeader } from './adoption.ts'
import { activeAt, live, liveHeader } from './header-item.ts'
import { relist } from './list-entries.ts'
import { detailsOf, listedAs, storeDetails, type Details } from './session-details.ts'
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
    const rev = (item && numberAt(item, 'rev')) ?? 0
    const unused = ['body', 'body_object'].filter((name) => !(name in body))
    const updatedAt = isActivity ? { updatedAt: activeAt(header, clock.now()) } : {}
    const list = relist(header, { ...listedAs(next), ...updatedAt })
    const changed: Action = {
      update: detailsKey(key),
      when: is('rev', rev),
      change: { set: { ...body, rev: rev + 1 }, remove: unused },
    }
    const refusal = await table.write([
      list.when.length === 0
        ? { check: headerKey(key), when: live }
        : { update: headerKey(key), when: all(live, ...list.when), change: list.change },
      changed,
      ...list.actions,
    ])
    if (refusal === undefined) return
  }
  throw new TooltrailError('storage_failed', `session ${key.session} kept changing during a write`, { retryable: true })
}
