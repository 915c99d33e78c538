/** Bytes of long texts that clients have not read yet: of all tenants, and of one, which must not refuse the others theirs. */
const MAX_BYTES = 64 * 1024 * 1024
const MAX_BYTES_OF_TENANT = 32 * 1024 * 1024

export interface BudgetLimits {
  readonly most?: number
  readonly mostOfTenant?: number
}

/** Who waits for room. */
export interface WaitingText {
  /** Resolves with true when the room is taken, or with false when it has left before. */
  readonly taken: Promise<boolean>
  leave(): void
}

/** Bounds what a process holds for clients that do not read. A text that is larger than all may come alone. */
export interface ResponseBudget {
  /** Whether there is room for so many bytes, beside those that the first who waits of this tenant needs. */
  fits(tenant: string, bytes: number): boolean
  /** Takes so many bytes that fit. */
  take(tenant: string, bytes: number): void
  /** Takes so many bytes when there is room: those of a tenant one after another. */
  wait(tenant: string, bytes: number): WaitingText
  give(tenant: string, bytes: number): void
  /** Whether so much is held that those who do not read should leave sooner. */
  isCrowded(): boolean
}

interface Waiting {
  readonly tenant: string
  readonly bytes: number
  enter(): void
}

/** The room of this process. */
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
