import { readdir, rmdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { sha256 } from '../../domain/hash.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { isObjectName } from '../../domain/ids.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { OutputStore } from '../../ports/output-store.ts'
import { createFile, makeFolder, removeIncoming, removeStaleFiles, syncFolder, unlinkIfThere } from './durable-files.ts'
import { encodeHeader, isErrno, readBytes, readHeader } from './object-file.ts'

const INCOMING = 'incoming'

/**
 * Creates a store that keeps outputs as files below `folder`. Each session has a folder, whose name is a hash of the
 * session's ids. Several processes may share `folder`.
 */
export function createDiskOutputStore({ folder }: { readonly folder: string }): OutputStore {
  const root = resolve(folder)
  const incoming = join(root, INCOMING)
  let prepared = false

  async function prepareOnce(): Promise<void> {
    if (prepared) return
    await makeFolder(incoming)
    await removeStaleFiles(incoming)
    prepared = true
  }

  return {
    put: (key, name, bytes, mediaType) =>
      storing(`put ${name}`, async () => {
        if (!isObjectName(name)) throw new RangeError(`${JSON.stringify(name)} is not an object name`)
        await prepareOnce()
        const hash = sha256(bytes)
        const home = sessionFolder(root, key)
        const path = join(home, name)
        await makeFolder(home)
        const chunks = [encodeHeader({ mediaType, bytes: bytes.byteLength, sha256: hash }), bytes]
        const created = await createFile(path, incoming, chunks)
        if (!created && (await readHeader(path))?.sha256 !== hash) throw new Error('the name is taken by other bytes')
        // Another writer may have created the folder or the file without syncing it yet, so both are synced in any
        // case.
        await syncFolder(home)
        await syncFolder(root)
      }),
    async read(key, name, range) {
      const bytes = isObjectName(name)
        ? await storing(`read ${name}`, () => readBytes(join(sessionFolder(root, key), name), range))
        : undefined
      if (bytes === undefined) throw new TooltrailError('output_not_found', `session ${key.session} has no such output`)
      return bytes
    },
    async stat(key, name) {
      if (!isObjectName(name)) return undefined
      const header = await storing(`stat ${name}`, () => readHeader(join(sessionFolder(root, key), name)))
      return header && { bytes: header.bytes, mediaType: header.mediaType }
    },
    link: async () => undefined,
    async remove(key, name) {
      if (!isObjectName(name)) return
      const home = sessionFolder(root, key)
      await storing(`remove ${name}`, async () => {
        if (await unlinkIfThere(join(home, name))) await syncFolder(home)
      })
    },
    removeAll: (key) =>
      storing(`remove outputs of ${key.session}`, async () => {
        await removeIncoming(incoming, sessionFolder(root, key))
        return removeFolder(sessionFolder(root, key))
      }),
  }
}

function sessionFolder(root: string, { tenant, session }: SessionKey): string {
  return join(root, sha256(`${tenant}\0${session}`))
}

/**
 * Deletes a session's folder. If a put runs at the same time, it may create the folder again and store its object
 * there. A deletion of a session therefore removes its outputs twice.
 */
async function removeFolder(path: string): Promise<number> {
  let removed = 0
  try {
    for (const name of await readdir(path)) if (await unlinkIfThere(join(path, name))) removed += 1
    await syncFolder(path)
    await rmdir(path)
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ENOTEMPTY')) throw error
  }
  return removed
}

async function storing<Result>(action: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    // The message of the file system's error is not used, because it contains paths of this machine.
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new TooltrailError('storage_failed', `could not ${action}: ${reason}`, {
      retryable: isPassing(error),
      cause: error,
    })
  }
}

/**
 * Whether a retry may help. It does not help if a permission is missing or the file system is read-only: an operator
 * must act.
 */
const isPassing = (error: unknown): boolean =>
  error instanceof Error && 'errno' in error && !isErrno(error, 'EACCES', 'EPERM', 'EROFS')
