import type { Delivery, DeliveryKey, DeliveryStatus, NewDelivery } from '../domain/delivery.ts'
import type { JsonObject } from '../domain/json.ts'
import type { SessionKey } from '../domain/session.ts'

/** An absent field stays as it is; null removes it. */
export interface DeliveryChange {
  readonly status?: DeliveryStatus
  /** At most 64 KB as JSON: larger things belong to the output store. */
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
  /** Only those of this owner's sessions. Never with `session`. */
  readonly owner?: string
  readonly status?: DeliveryStatus
  readonly limit: number
  /** The id of the last delivery of the page before. */
  readonly after?: string
}

/**
 * What runs owe to channels: rows that are durable before anything is sent. A run's first is stored in the write that accepts
 * the run (`NewRun.delivery`), with the run's id. They are deleted with their session.
 */
export interface Outbox {
  /**
   * Adds one for a moment of a run, due at once; its target has at most 370 KB as JSON. Returns false, and changes nothing, if
   * there is one of this id, or no live session.
   */
  add(key: DeliveryKey, delivery: NewDelivery, state: JsonObject): Promise<boolean>
  /** Read strongly. */
  read(key: DeliveryKey): Promise<Delivery | undefined>
  /** The pending ones of a session by their ids, oldest first, read strongly: those `after` this id, at most `limit`. */
  pending(key: SessionKey, limit: number, after?: string): Promise<readonly Delivery[]>
  /**
   * Changes a delivery if nobody has changed it since it was read as `seen`, and returns it as it is now; otherwise returns undefined,
   * and nothing has changed. Safe to repeat after a lost response, which the adapter does.
   */
  change(seen: Delivery, change: DeliveryChange): Promise<Delivery | undefined>
  /**
   * At most `limit` deliveries whose `due` has passed, oldest first; if there are more, each tenant gets its share. May be some
   * moments behind.
   */
  due(now: number, limit: number): Promise<readonly { readonly key: DeliveryKey; readonly due: number }[]>
  /**
   * Those of one kind, newest first. A page may hold fewer than `limit` although more follow: `next` says so. Without a session
   * it may be some moments behind.
   */
  list(filter: DeliveryFilter): Promise<{ readonly deliveries: readonly Delivery[]; readonly next?: string }>
  /** The tenant's delivery of this kind and id. May not find one of the last moments. */
  find(tenant: string, kind: string, id: string): Promise<Delivery | undefined>
}
