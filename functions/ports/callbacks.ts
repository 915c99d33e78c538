import type { Delivery, DeliveryStatus, NewDelivery } from '../domain/delivery.ts'

/** The state of a callback, as the API shows it; times in milliseconds since 1970. */
export interface ShownCallback {
  readonly name: string
  readonly attempts: readonly { readonly at: number; readonly status?: number; readonly error?: string }[]
  /** When the callback is sent next. Absent if it is finished, or if its run has not ended. */
  readonly next?: number
}

/** Lists and retries callbacks for clients. */
export interface Callbacks {
  /** Whether the program's settings define a callback with this name. */
  has(name: string): boolean
  /** Creates the delivery for a run that has this callback. */
  delivery(name: string): NewDelivery
  list(filter: {
    readonly tenant: string
    readonly session?: string
    /** Only callbacks of this owner's sessions. Never together with `session`. */
    readonly owner?: string
    readonly status?: DeliveryStatus
    readonly limit: number
    readonly after?: string
  }): Promise<{ readonly deliveries: readonly Delivery[]; readonly next?: string }>
  find(tenant: string, id: string): Promise<Delivery | undefined>
  /**
   * Schedules the callback to be sent again soon, with the same id and body. Returns its new state. Rejects with
   * `callback_not_found`.
   */
  redeliver(seen: Delivery): Promise<Delivery>
  shown(delivery: Delivery): ShownCallback
}
