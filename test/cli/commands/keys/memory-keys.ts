import { changeCaps, type ApiKey } from '../../../../functions/domain/keys/api-key.ts'
import type { KeyStore } from '../../../../functions/ports/key-store.ts'

/** Creates a key store in memory. `stored` has the keys by their hashes. */
export function createMemoryKeys() {
  const stored = new Map<string, ApiKey>()
  const keys: KeyStore = {
    create: async (hash, key) => void stored.set(hash, key),
    find: async (hash) => stored.get(hash),
    list: async (tenant) => [...stored.values()].filter((key) => tenant === undefined || key.tenant === tenant),
    revoke: async (id, now) => {
      const found = [...stored].find(([, key]) => key.id === id)
      if (found !== undefined) stored.set(found[0], { ...found[1], revokedAt: now })
      return found !== undefined
    },
    cap: async (id, change) => {
      const [hash, key] = [...stored].find(([, one]) => one.id === id && one.revokedAt === undefined) ?? []
      if (hash === undefined || key === undefined) return undefined
      stored.set(hash, { ...key, caps: changeCaps(key.caps, change) })
      return stored.get(hash)
    },
    used: async () => undefined,
    any: async () => stored.size > 0,
    take: async () => 0,
    enter: async () => true,
    leave: async () => undefined,
  }
  return { stored, keys }
}
