import { join } from 'node:path'
import type { Database } from '../../adapters/sqlite/database.ts'
import { expireLeases, holdsLeases } from '../../adapters/sqlite/log/runs/process-leases.ts'
import { forEachEndedProcess, lockProcess, type ProcessLock } from '../../adapters/sqlite/process-lock.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'

const describe = (error: unknown): { readonly error: string } => ({ error: String(error) })

/** The folder of the locks, within the data folder. */
const PROCESSES = 'processes'

/** This process, as seen by other processes that use its data folder. */
export interface LiveProcess {
  /**
   * The name of this process in its leases. Undefined if the file system has no locks; then the leases last until they
   * expire.
   */
  readonly id: string | undefined
  /** Releases the lock, unless a lease still needs it. Must be called before the database is closed. */
  close(): void
}

/**
 * Registers this process. Expires the leases of processes that have ended, so that their runs resume at once (promises
 * T5). Leases of running or suspended processes stay. A failure is only logged, because leases also expire by time.
 */
export function registerProcess({
  database,
  dataFolder,
  clock,
  logger,
}: {
  readonly database: Database
  readonly dataFolder: string
  readonly clock: Clock
  readonly logger: Pick<Logger, 'info' | 'warn'>
}): LiveProcess {
  const folder = join(dataFolder, PROCESSES)
  let lock: ProcessLock | undefined
  try {
    lock = lockProcess(folder)
  } catch (error) {
    logger.warn('no file can be locked: if this process is killed, its runs resume after a minute', describe(error))
  }
  try {
    if (lock !== undefined)
      forEachEndedProcess(folder, (id) => {
        const leases = expireLeases(database, id, clock.now())
        if (leases > 0) logger.info('another process has ended: its runs can resume now', { process: id, leases })
      })
  } catch (error) {
    logger.warn('the runs of ended processes resume when their leases expire', describe(error))
  }
  return {
    id: lock?.id,
    close() {
      // While a tool that needs a lease still runs, the lease stays, and the lock is not released here. The lock is
      // released when the process ends, so no other process acquires the run earlier.
      if (lock !== undefined && !holdsLeases(database, lock.id)) lock.release()
    },
  }
}
