import { TooltrailError } from '../../../functions/domain/errors.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import type { OutputStore } from '../../../functions/ports/output-store.ts'

export interface MemoryOutputs extends OutputStore {
  /** Returns the names of a session's objects. */
  names(key: SessionKey): readonly string[]
}

/** Creates a store of outputs in memory. */
export function createMemoryOutputs(): MemoryOutputs {
  const objects = new Map<string, { readonly bytes: Uint8Array; readonly mediaType: string }>()
  const folderOf = ({ tenant, session }: SessionKey): string => `${tenant}/${session}/`
  const names = (key: SessionKey): string[] => [...objects.keys()].filter((name) => name.startsWith(folderOf(key)))
  return {
    names,
    async put(key, name, bytes, mediaType) {
      const known = objects.get(folderOf(key) + name)
      if (known === undefined) objects.set(folderOf(key) + name, { bytes: Uint8Array.from(bytes), mediaType })
      else if (Buffer.compare(known.bytes, bytes) !== 0)
        throw new TooltrailError('storage_failed', `there is another object ${name}`)
    },
    async read(key, name, range) {
      const found = objects.get(folderOf(key) + name)
      if (found === undefined) throw new TooltrailError('output_not_found', `there is no object ${name}`)
      return range === undefined ? found.bytes.slice() : found.bytes.slice(range.start, range.end + 1)
    },
    async stat(key, name) {
      const found = objects.get(folderOf(key) + name)
      return found === undefined ? undefined : { bytes: found.bytes.length, mediaType: found.mediaType }
    },
    link: async () => undefined,
    remove: async (key, name) => void objects.delete(folderOf(key) + name),
    async removeAll(key) {
      const found = names(key)
      for (const name of found) objects.delete(name)
      return found.length
    },
  }
}
