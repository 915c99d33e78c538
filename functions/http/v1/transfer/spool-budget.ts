import { RequestError } from '../../middleware/request-error.ts'

/** Bytes that imports keep on disk at a time, of all and of one tenant: two of the largest. */
const MAX_BYTES = 4 * 1024 * 1024 * 1024
const MAX_BYTES_OF_TENANT = 2 * 1024 * 1024 * 1024

/** What one import keeps on disk. */
export interface Spooled {
  /** So many more bytes. Throws `busy` where there is no room for them now. */
  grow(bytes: number): void
  /** All of it is gone. */
  clear(): void
}

/** Bounds what all imports of this process keep on disk while they run. */
export interface SpoolBudget {
  enter(tenant: string): Spooled
}

/** The room of this process. */
export function createSpoolBudget({ most = MAX_BYTES, mostOfTenant = MAX_BYTES_OF_TENANT } = {}): SpoolBudget {
  const held = new Map<string, number>()
  let total = 0
  const count = (tenant: string, bytes: number): void => {
    total += bytes
    const left = (held.get(tenant) ?? 0) + bytes
    if (left === 0) held.delete(tenant)
    else held.set(tenant, left)
  }
  return {
    enter(tenant) {
      let own = 0
      return {
        grow(bytes) {
          if (total + bytes > most || (held.get(tenant) ?? 0) + bytes > mostOfTenant) throw tooManyImports()
          count(tenant, bytes)
          own += bytes
        },
        clear() {
          count(tenant, -own)
          own = 0
        },
      }
    },
  }
}

function tooManyImports(): RequestError {
  const detail = 'nothing was imported: too many large imports are on their way: try again'
  return new RequestError(503, 'busy', detail, { headers: { 'retry-after': '30' } })
}
