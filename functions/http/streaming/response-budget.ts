/**
 * Limits of the bytes of long texts that clients have not read yet. The second limit is for one tenant, so that others
 * keep their share.
 */
const MAX_BYTES = 64 * 1024 * 1024
const MAX_BYTES_OF_TENANT = 32 * 1024 * 1024

export interface BudgetLimits {
  readonly most?: number
  readonly mostOfTenant?: number
}

/** A text that waits for budget. */
export interface WaitingText {
  /** Resolves with true when the budget is reserved, or with false if `leave` is called first. */
  readonly taken: Promise<boolean>
  leave(): void
}

/**
 * Limits the memory for clients that do not read. A text larger than the whole budget is allowed if it is the only one.
 */
export interface ResponseBudget {
  /** Whether `bytes` fit into the budget that remains if the tenant's first waiter is served. */
  fits(tenant: string, bytes: number): boolean
  /** Reserves `bytes`. The caller must have checked that they fit. */
  take(tenant: string, bytes: number): void
  /** Waits until there is budget for `bytes`, and reserves it. The waiters of one tenant are served in order. */
  wait(tenant: string, bytes: number): WaitingText
  give(tenant: string, bytes: number): void
  /** Whether unread texts use much of the budget. If so, clients that do not read should be disconnected earlier. */
  isCrowded(): boolean
}

interface Waiting {
  readonly tenant: string
  readonly bytes: number
  enter(): void
}

/** Creates the response budget of this process. */
export function createResponseBudget({
  most = MAX_BYTES,
  mostOfTenant = MAX_BYTES_OF_TENANT,
}: BudgetLimits = {}): ResponseBudget {
  const held = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let total = 0
  const of = (tenant: string): number => held.get(tenant) ?? 0
  const isWithinBudget = (tenant: string, bytes: number, first = 0): boolean =>
    (total === 0 || total + bytes <= most) && (of(tenant) + first === 0 || of(tenant) + first + bytes <= mostOfTenant)
  const count = (tenant: string, bytes: number): void => {
    total += bytes
    const left = of(tenant) + bytes
    if (left === 0) held.delete(tenant)
    else held.set(tenant, left)
  }
  const admit = (): void => {
    const passed = new Set<string>()
    for (const one of waiting) {
      const { tenant, bytes } = one
      if (passed.has(tenant)) continue
      if (isWithinBudget(tenant, bytes)) {
        waiting.delete(one)
        count(tenant, bytes)
        one.enter()
      } else passed.add(tenant)
    }
  }
  const firstOf = (tenant: string): number => waiting.values().find((one) => one.tenant === tenant)?.bytes ?? 0
  return {
    fits: (tenant, bytes) => isWithinBudget(tenant, bytes, firstOf(tenant)),
    take: count,
    wait(tenant, bytes) {
      const { promise: taken, resolve } = Promise.withResolvers<boolean>()
      const one = { tenant, bytes, enter: () => resolve(true) }
      waiting.add(one)
      admit()
      return {
        taken,
        leave() {
          if (!waiting.delete(one)) return
          resolve(false)
          admit()
        },
      }
    },
    give(tenant, bytes) {
      count(tenant, -bytes)
      admit()
    },
    isCrowded: () => total > mostOfTenant / 2,
  }
}
