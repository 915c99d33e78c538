import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const LOCK_FILE = /^([0-9a-f-]{36})\.lock$/
/** Maximum attempts to lock a new file. Another process that is starting may remove the file before it is locked. */
const LOCK_ATTEMPTS = 10

/**
 * Signals to other processes with the same folder that this process is alive. The operating system releases the lock when the
 * process ends, even if it is killed. A suspended process keeps its lock.
 */
export interface ProcessLock {
  /** A random id. The process number is not used, because in a container it repeats after a restart. */
  readonly id: string
  /** Releases the lock and removes its file. */
  release(): void
}

/**
 * Connections that hold a lock. They are kept here, because the garbage collector closes a connection without a
 * reference.
 */
const held = new Set<DatabaseSync>()

/** Locks a new file in the folder for this process. Throws if the file system supports no locks. */
export function lockProcess(folder: string): ProcessLock {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  let refusal: unknown
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    const id = randomUUID()
    const path = join(folder, `${id}.lock`)
    try {
      const lock = lockFile(path)
      // If the file was removed before it was locked, the lock is useless, and another file is tried. Once the file is
      // locked, only the lock's holder may remove it.
      if (!existsSync(path)) {
        lock.close()
        continue
      }
      held.add(lock)
      return { id, release: () => release(lock, path) }
    } catch (error) {
      refusal = error
    }
  }
  throw new Error('no file could be locked', { cause: refusal })
}

function release(lock: DatabaseSync, path: string): void {
  try {
    rmSync(path, { force: true })
  } finally {
    held.delete(lock)
    lock.close()
  }
}

/**
 * Calls `work` for each process that ended without releasing its lock, then removes the lock's file. While `work` runs,
 * no other process calls `work` for the same ended process. If `work` throws, the file remains for the next call.
 */
export function forEachEndedProcess(folder: string, work: (id: string) => void): void {
  for (const name of readdirSync(folder)) {
    const [, id] = LOCK_FILE.exec(name) ?? []
    const path = join(folder, name)
    const lock = id === undefined ? undefined : lockFreeFile(path)
    if (id === undefined || lock === undefined) continue
    try {
      work(id)
      rmSync(path, { force: true })
    } finally {
      lock.close()
    }
  }
}

/** Locks the file, or returns undefined if another process holds the lock or the file system reports an error. */
function lockFreeFile(path: string): DatabaseSync | undefined {
  try {
    return lockFile(path)
  } catch {
    return undefined
  }
}

/** Locks the file by an exclusive transaction of SQLite, because Node has no other lock. Creates a missing file. */
function lockFile(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // The journal is kept in memory. A journal file would remain on the disk if the process were killed.
    database.exec('PRAGMA journal_mode = MEMORY')
    database.exec('BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}
