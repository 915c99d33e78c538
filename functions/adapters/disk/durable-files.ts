import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readdir, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isErrno } from './object-file.ts'

const TEMPORARY = '.tmp'
/** A write takes seconds; what is older is left over from a crash. */
const STALE_MS = 60 * 60 * 1000

/**
 * Makes `path` hold these bytes, durably, whole or not at all; `incoming` must be on the same file system, and is where a crash
 * leaves them. Returns false, with nothing changed, when the path was taken.
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

/** Makes a folder with the folders above it, durably, each for this user only. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made))
}

/** Makes the names in a folder durable. */
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

/** Returns whether there was such a file. */
export async function unlinkIfThere(path: string): Promise<boolean> {
  try {
    await unlink(path)
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false
    throw error
  }
}

/** Removes what is in `incoming` for this folder: crashed writers left it, and whoever is still writing fails. */
export async function removeIncoming(incoming: string, folder: string): Promise<void> {
  const names = await readdir(incoming).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  })
  const own = names.filter((name) => name.startsWith(`${basename(folder)}.`))
  for (const name of own) await unlinkIfThere(join(incoming, name))
  if (own.length > 0) await syncFolder(incoming)
}

/** Removes what crashed writers left in `incoming`. Compares file times with the machine's own clock. */
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

/** A link, not a rename: a rename would overwrite. */
async function linkUnlessTaken(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}
