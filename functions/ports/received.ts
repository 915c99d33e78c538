/** Remembers received deliveries by their senders' ids, so that a repeated delivery is recognized. */
export interface Received {
  /**
   * Stores `value` under all of the names, unless one of them is already known. If one is, stores nothing. The names expire at
   * `until` (milliseconds since 1970). Returns the stored value of the delivery. A new delivery's stored value is `value`. If
   * calls for one delivery are concurrent, exactly one of them stores its value.
   */
  remember(tenant: string, names: readonly string[], value: string, until: number): Promise<string>
  /** Forgets those of the names that have this value, because the delivery was refused. */
  forget(tenant: string, names: readonly string[], value: string): Promise<void>
}
