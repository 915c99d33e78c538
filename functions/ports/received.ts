/** Remembers received deliveries by their senders' ids, so that a repeated delivery is recognized. */
export interface Received {
  /**
   * Stores `value` under all of the names, all or nothing, unless one of them is known already. The names expire at
   * `until` (milliseconds since 1970). Returns the stored value of the delivery; this is `value` if the delivery is
   * new. If calls are concurrent, exactly one stores its value.
   */
  remember(tenant: string, names: readonly string[], value: string, until: number): Promise<string>
  /** Forgets the names that have this value, because the delivery was refused. */
  forget(tenant: string, names: readonly string[], value: string): Promise<void>
}
