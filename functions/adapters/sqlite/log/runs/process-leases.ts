import { readOne, transaction, write, type Database } from '../../database.ts'

/**
 * Returns the owner of a lease in the form that its row stores: the process and the nonce of the attempt. The process
 * is absent if it holds no lock (`process-lock.ts`). Earlier versions store only the nonce, so their leases belong to
 * no process.
 */
export const leaseOwnerOf = (process: string | undefined, nonce: string): string =>
  process === undefined ? nonce : `${process}:${nonce}`

/**
 * Condition for leases of a process. Each session with a lease is due, so the query can use the index of due sessions.
 */
const HELD = 'due IS NOT NULL AND leaseOwner GLOB ?'
const ownedBy = (process: string): string => `${process}:*`

/** Whether the process holds a lease. */
export const holdsLeases = (database: Database, process: string): boolean =>
  readOne(database, `SELECT 1 FROM sessions WHERE ${HELD} LIMIT 1`, ownedBy(process)) !== undefined

/**
 * Expires the leases of an ended process, and makes their sessions due (session-protocol, Expire leases). Returns the
 * number of leases. The next holder acquires such a lease like any expired lease. So the former holder is fenced off if
 * it is still alive.
 */
export function expireLeases(database: Database, process: string, now: number): number {
  const sql = `UPDATE sessions SET leaseUntil = 0, due = min(due, ?) WHERE ${HELD}`
  return transaction(database, () => write(database, sql, now, ownedBy(process)))
}
