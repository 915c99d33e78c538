import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readdir, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isErrno } from './object-file.ts'

const TEMPORARY = '.tmp'
/** Age at which a temporary file counts as left over from a crash. A write takes seconds. */
const STALE_MS = 60 * 60 * 1000

/**
 * Creates the file at `path` durably, completely or not at all. The temporary file is in `incoming`, where a crash
 * leaves it; `incoming` must be on the same file system. Returns false, with nothing changed, if the path exists.
 */
export async function createFile(path: string, incoming: string, chunks: readonly Uint8Array[]): Promise<boolean> {
  const temporary = join(incoming, `${basename(dirname(path))}.${randomUUID()}${TEMPORARY}`)
  try {
    await writeSynced(temporary, chunks)
    return await linkUnlessTaken(temporary, path)
  } finally {
    await unlinkIfThere(temporary)
  }
}

/** Creates a folder and its parents durably, with access for this user only. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made))
}

/** Flushes a folder to the disk, so that the names of its files are durable. */
export async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a folder; there we rely on the file system's journal.
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Deletes a file. Returns whether it existed. */
export async function unlinkIfThere(path: string): Promise<boolean> {
  try {
    await unlink(path)
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false
    throw error
  }
}

/**
 * Deletes the temporary files in `incoming` that crashed writers have left for this folder. If such a file belongs to an active
 * writer, that writer's write fails.
 */
export async function removeIncoming(incoming: string, folder: string): Promise<void> {
  const names = await readdir(incoming).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  })
  const own = names.filter((name) => name.startsWith(`${basename(folder)}.`))
  for (const name of own) await unlinkIfThere(join(incoming, name))
  if (own.length > 0) await syncFolder(incoming)
}

/**
 * Deletes temporary files in `incoming` that crashed writers have left. Compares the files' times with the system
 * clock.
 */
export async function removeStaleFiles(incoming: string): Promise<void> {
  const now = Date.now()
  for (const name of await readdir(incoming)) {
    const path = join(incoming, name)
    const found = await stat(path).catch((error: unknown) => {
      if (isErrno(error, 'ENOENT')) return undefined
      throw error
    })
    if (name.endsWith(TEMPORARY) && found !== undefined && now - found.mtimeMs > STALE_MS) await unlinkIfThere(path)
  }
}

async function writeSynced(path: string, chunks: readonly Uint8Array[]): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    for (const chunk of chunks) await file.writeFile(chunk)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Creates the link `to`. Returns false if `to` exists. A rename is not used, because it would overwrite `to`. */
async function linkUnlessTaken(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}
