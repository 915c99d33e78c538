import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Logger } from '../../ports/logger.ts'

/** The database's name within its folder. */
export const DATABASE = 'tooltrail.db'
/** The files that SQLite keeps beside a database; it creates them with the database's mode. */
const BESIDE = ['-wal', '-shm', '-journal']

/** Mode bit of a folder in which all users keep files, such as /tmp. */
const STICKY = 0o1000

/**
 * Creates the data folder and the database's files, readable for this user only (0700 and 0600). An existing folder or
 * file gets this mode too, and each change is logged as a warning. Returns the database's path. Throws, before any
 * change, if the folder is unsuitable.
 */
export function privateData(folder: string, logger: Pick<Logger, 'warn'>): string {
  makeFolder(resolve(folder))
  if ((statSync(folder).mode & STICKY) !== 0)
    throw new Error(`${folder} is shared by all users: name a folder of its own`)
  const path = join(folder, DATABASE)
  // Creates the file first, because SQLite would create it with the mode of the umask. If this fails, the folder is
  // left unchanged.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  keepPrivate(folder, 0o700, logger)
  for (const file of [path, ...BESIDE.map((suffix) => path + suffix)]) keepPrivate(file, 0o600, logger)
  return path
}

/**
 * Creates a folder and its parents. `mkdirSync` with `recursive` is not used: it never returns if a folder cannot be
 * created, as in /proc.
 */
function makeFolder(folder: string): void {
  if (isFolder(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another starting process may have created the folder.
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
