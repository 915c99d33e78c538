import type { Delivery, DeliveryStatus, NewDelivery } from '../domain/delivery.ts'

/** What a program is told of one attempt; times in milliseconds since 1970. */
export interface ShownCallback {
  readonly name: string
  readonly attempts: readonly { readonly at: number; readonly status?: number; readonly error?: string }[]
  /** When it is sent next; absent when it is over, and while its run has not ended. */
  readonly next?: number
}

/** Callbacks, as those see them who ask what became of them. */
export interface Callbacks {
  /** Whether runs may name a callback of this name. */
  has(name: string): boolean
  /** What a run owes to it. */
  delivery(name: string): NewDelivery
  list(filter: {
    readonly tenant: string
    readonly session?: string
    /** Only those of this owner's sessions. Never with `session`. */
    readonly owner?: string
    readonly status?: DeliveryStatus
    readonly limit: number
    readonly after?: string
  }): Promise<{ readonly deliveries: readonly Delivery[]; readonly next?: string }>
  find(tenant: string, id: string): Promise<Delivery | undefined>
  /** Has it sent again soon, with the same id and body; returns it as it is now. Rejects with `callback_not_found`. */
  redeliver(seen: Delivery): Promise<Delivery>
  shown(delivery: Delivery): ShownCallback
}
