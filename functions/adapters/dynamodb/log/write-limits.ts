/**
 * Maximum bytes of rows in one atomic write of 4 MB. DynamoDB also counts the existing content of rows that are only
 * changed or removed.
 */
export const BYTES_AT_ONCE = 2_500_000

/** Returns an upper bound of the bytes that DynamoDB counts. JSON adds escapes and type names, and omits nothing. */
export const bytesOf = (value: object): number => Buffer.byteLength(JSON.stringify(value))
