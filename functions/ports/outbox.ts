import type { Delivery, DeliveryKey, DeliveryStatus, NewDelivery } from '../domain/delivery.ts'
import type { JsonObject } from '../domain/json.ts'
import type { SessionKey } from '../domain/session.ts'

/** Changes of a delivery. An absent field stays unchanged; null removes it. */
export interface DeliveryChange {
  readonly status?: DeliveryStatus
  /** The state has at most 64 KB as JSON. Larger data belong in the output store. */
  readonly state?: JsonObject
  readonly owner?: string | null
  readonly due?: number | null
  readonly hinted?: true | null
  readonly failures?: number
  readonly begun?: number | null
}

export interface DeliveryFilter {
  readonly tenant: string
  readonly kind: string
  readonly session?: string
  /** Only deliveries of this owner's sessions. Never together with `session`. */
  readonly owner?: string
  readonly status?: DeliveryStatus
  readonly limit: number
  /** The id of the last delivery on the previous page. */
  readonly after?: string
}

/**
 * The outbox of channel deliveries: rows that are durable before anything is sent. A run's first delivery is stored in
 * the write that accepts the run (`NewRun.delivery`), under the run's id. Deliveries are deleted with their session.
 */
export interface Outbox {
  /**
   * Adds a delivery for a later event of a run. It is due at once. Its target has at most 370 KB as JSON. If the id exists, or if
   * the session does not exist or is deleted, returns false and changes nothing.
   */
  add(key: DeliveryKey, delivery: NewDelivery, state: JsonObject): Promise<boolean>
  /** Reads a delivery with strong consistency. */
  read(key: DeliveryKey): Promise<Delivery | undefined>
  /** Lists the first `limit` pending deliveries of a session after this id, oldest first, with strong consistency. */
  pending(key: SessionKey, limit: number, after?: string): Promise<readonly Delivery[]>
  /**
   * Changes a delivery, unless it has changed since it was read as `seen`. Returns the delivery's new state; undefined if
   * nothing was changed. If a response is lost, the adapter repeats the change, which is safe.
   */
  change(seen: Delivery, change: DeliveryChange): Promise<Delivery | undefined>
  /**
   * Lists at most `limit` due deliveries, oldest first. If there are more, each tenant gets a share of the list. The list may be
   * slightly out of date.
   */
  due(now: number, limit: number): Promise<readonly { readonly key: DeliveryKey; readonly due: number }[]>
  /**
   * Lists deliveries of one kind, newest first. A page may have fewer than `limit` deliveries although more follow;
   * `next` is set in this case. If the filter names no session, the result may be slightly out of date.
   */
  list(filter: DeliveryFilter): Promise<{ readonly deliveries: readonly Delivery[]; readonly next?: string }>
  /** Finds the tenant's delivery of this kind and id. A very recent delivery may not be found. */
  find(tenant: string, kind: string, id: string): Promise<Delivery | undefined>
}
