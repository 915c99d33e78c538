/** Remembers received deliveries by their senders' ids, so that a repeated delivery is recognized. */
export interface Received {
  /**
   * Stores `value` under all of the names, and returns `value`. If one of the names is already known, stores nothing, and returns
   * the value that is stored under this name. The names expire at `until` (milliseconds since 1970). If calls for one delivery
   * are concurrent, exactly one of them stores its value.
   */
  remember(tenant: string, names: readonly string[], value: string, until: number): Promise<string>
  /** Forgets each of the names that has this value. Called if the delivery was refused. */
  forget(tenant: string, names: readonly string[], value: string): Promise<void>
}
