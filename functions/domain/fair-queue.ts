/** Those who wait for something that few have at a time. */
export interface TenantLine<One> {
  add(tenant: string, one: One): void
  /** Takes out whose turn it is: tenants take turns, and of a tenant who came first. Nothing is kept of a tenant for whom nobody waits. */
  next(): One | undefined
}

/** A line in which nobody waits for all that another tenant has asked for. */
export function createTenantLine<One>(): TenantLine<One> {
  /** Tenants in the order of their turns. */
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
