import { TooltrailError } from '../../../../../domain/errors.ts'
import type { SessionKey } from '../../../../../domain/session.ts'
import type { Item } from '../../../attributes.ts'
import { headerKey } from '../../../keys.ts'
import { liveHeader } from '../header-item.ts'
import { isListed } from '../lists/list-entries.ts'
import type { SessionRows } from '../session-rows.ts'

/*
 * Sessions of earlier versions are in separate lists, sorted by `updatedAt`, and have no message counts. The next write
 * of such a session, or the sweeper, adopts the session. An adopted session is like any other.
 */

const ATTEMPTS = 16

/**
 * Returns the header of a session. A session of an earlier version is adopted first, so the session has all its list
 * entries.
 */
export async function listedHeader(rows: SessionRows, key: SessionKey, found: Item): Promise<Item> {
  let header = found
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    if (isListed(header)) return header
    await (await import('./adopt.ts')).adopt(rows, key, header)
    header = liveHeader(await rows.table.read(headerKey(key)), key)
  }
  throw new TooltrailError('storage_failed', `session ${key.session} kept changing during a write`, { retryable: true })
}
