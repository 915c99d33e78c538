/** Remembers received deliveries by their senders' ids, so that a repeated delivery is recognized. */
export interface Received {
  /**
   * Stores `value` under all of the names until `until` (milliseconds since 1970), all or nothing, unless one of them
   * is known already. Returns the stored value of the delivery; this is `value` if the delivery is new. Of several
   * concurrent calls, exactly one is new.
   */
  remember(tenant: string, names: readonly string[], value: string, until: number): Promise<string>
}
