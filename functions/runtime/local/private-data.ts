import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Logger } from '../../ports/logger.ts'

/** The database's name within its folder. */
export const DATABASE = 'tooltrail.db'
/** The files that SQLite keeps beside a database; it creates them with the database's mode. */
const BESIDE = ['-wal', '-shm', '-journal']

/** Of a folder in which all users keep files, such as /tmp. */
const STICKY = 0o1000

/**
 * Makes the data folder and the database's files readable for this user only (0700 and 0600), new or not, and warns of
 * each existing one that it changed. Returns the database's path. Throws without a change where the data cannot be.
 */
export function privateData(folder: string, logger: Pick<Logger, 'warn'>): string {
  makeFolder(resolve(folder))
  if ((statSync(folder).mode & STICKY) !== 0)
    throw new Error(`${folder} is shared by all users: name a folder of its own`)
  const path = join(folder, DATABASE)
  // Before SQLite creates it with what the umask allows, and before a folder is changed that cannot have it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  keepPrivate(folder, 0o700, logger)
  for (const file of [path, ...BESIDE.map((suffix) => path + suffix)]) keepPrivate(file, 0o600, logger)
  return path
}

/** With those that it is in. `mkdirSync` itself never returns where the system lets nothing be made, such as in /proc. */
function makeFolder(folder: string): void {
  if (isFolder(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process that starts may have made it.
    if (!isFolder(folder)) throw error
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

function keepPrivate(path: string, mode: number, logger: Pick<Logger, 'warn'>): void {
  const before = statSync(path, { throwIfNoEntry: false })
  if (before === undefined || (before.mode & 0o777 & ~mode) === 0) return
  const modes = { path, before: (before.mode & 0o777).toString(8), now: mode.toString(8) }
  try {
    chmodSync(path, mode)
    logger.warn('other users could read this: changed', modes)
  } catch (error) {
    logger.warn('other users can read this: could not change it', { ...modes, error: String(error) })
  }
}
