/** Limits the memory for data that requests contain, for all tenants together and for each tenant. */
export interface ByteBudget {
  /**
   * Reserves bytes for a tenant; waits while they do not fit. Returns the function that releases the bytes. The caller
   * must call this function once. Rejects with the budget's error if the wait times out.
   */
  take(tenant: string, bytes: number): Promise<() => void>
}

interface Limits {
  readonly most: number
  readonly mostOfTenant: number
  readonly timeoutMs: number
  /** Creates the error of a wait that times out. */
  readonly refusal: () => Error
}

interface Waiting {
  readonly tenant: string
  readonly bytes: number
  enter(): void
}

/** Creates a budget of this process. */
export function createByteBudget({ most, mostOfTenant, timeoutMs, refusal }: Limits): ByteBudget {
  const held = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let total = 0
  const fits = (tenant: string, bytes: number): boolean =>
    total + bytes <= most && (held.get(tenant) ?? 0) + bytes <= mostOfTenant
  const count = (tenant: string, bytes: number): void => {
    total += bytes
    const left = (held.get(tenant) ?? 0) + bytes
    if (left === 0) held.delete(tenant)
    else held.set(tenant, left)
  }
  const admit = (): void => {
    for (const one of waiting)
      if (fits(one.tenant, one.bytes)) {
        waiting.delete(one)
        count(one.tenant, one.bytes)
        one.enter()
      }
  }
  return {
    async take(tenant, bytes) {
      const release = (): void => {
        count(tenant, -bytes)
        admit()
      }
      if (fits(tenant, bytes)) {
        count(tenant, bytes)
        return release
      }
      await new Promise<void>((resolve, reject) => {
        const one = { tenant, bytes, enter: () => resolve(clearTimeout(late)) }
        const late = setTimeout(() => {
          waiting.delete(one)
          reject(refusal())
        }, timeoutMs)
        waiting.add(one)
      })
      return release
    },
  }
}
