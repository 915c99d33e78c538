/** Of the 4 MB of one atomic write, which counts rows with what they hold: also those that it only changes or removes. */
export const BYTES_AT_ONCE = 2_500_000

/** No less than DynamoDB counts for it: escapes and names of types are added, nothing is left out. */
export const bytesOf = (value: object): number => Buffer.byteLength(JSON.stringify(value))
