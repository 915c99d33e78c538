import { RequestError } from '../../middleware/request-error.ts'

/**
 * Limits of the bytes that imports keep on disk, in total and for one tenant. One tenant can store two imports of the
 * largest size.
 */
const MAX_BYTES = 4 * 1024 * 1024 * 1024
const MAX_BYTES_OF_TENANT = 2 * 1024 * 1024 * 1024

/** The disk usage of one import. */
export interface Spooled {
  /** Reserves more bytes. Throws `busy` if they do not fit now. */
  grow(bytes: number): void
  /** Releases all bytes of the import. */
  clear(): void
}

/** Limits the disk usage of all imports of this process. */
export interface SpoolBudget {
  enter(tenant: string): Spooled
}

/** Creates the spool budget of this process. */
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
  const detail = 'nothing was imported: too many large imports are in progress; retry in 30 s'
  return new RequestError(503, 'busy', detail, { headers: { 'retry-after': '30' } })
}
