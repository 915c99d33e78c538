/** A queue for a limited resource, fair between tenants. */
export interface TenantLine<One> {
  add(tenant: string, one: One): void
  /**
   * Removes and returns the next entry. Tenants alternate; entries of one tenant are served in order. A tenant without
   * entries takes no memory.
   */
  next(): One | undefined
}

/** Creates a queue in which no tenant waits for all entries of another tenant. */
export function createTenantLine<One>(): TenantLine<One> {
  /** Waiting entries by tenant, in the order in which the tenants are served. */
  const waiting = new Map<string, One[]>()
  return {
    add(tenant, one) {
      const line = waiting.get(tenant)
      if (line === undefined) waiting.set(tenant, [one])
      else line.push(one)
    },
    next() {
      const [turn] = waiting
      if (turn === undefined) return undefined
      const [tenant, line] = turn
      const one = line.shift()
      waiting.delete(tenant)
      if (line.length > 0) waiting.set(tenant, line)
      return one
    },
  }
}
