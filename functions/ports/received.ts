/** What senders have delivered, by ids of their own, so that a delivery that comes again is known. */
export interface Received {
  /**
   * Remembers `value` under all of the names until then (milliseconds since 1970), all or nothing, unless one of them is known
   * already. Returns the value under which the delivery is known, which is `value` if it is new. Of several at once, one is new.
   */
  remember(tenant: string, names: readonly string[], value: string, until: number): Promise<string>
}
