/**
 * Node has these functions (ES2026, "JSON.parse source text access"); the compiler's library does not declare them yet.
 */
declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown
    rawJSON(text: string): ExactNumber
    isRawJSON(value: unknown): value is ExactNumber
  }
}

/**
 * A number that keeps its spelling because JavaScript would spell it differently: `10.00`, `1e3`, integers beyond 2^53.
 * `JSON.stringify` writes the original spelling. `readJson` (`functions/log/json/exact-json.ts`) creates such a number.
 * If its field is copied to another object, that object is not an exact number. So code that copies values field by
 * field must check `isExactNumber` first.
 */
export type ExactNumber = { readonly rawJSON: string }

/**
 * A JSON value. A value from outside contains an `ExactNumber` instead of each number whose spelling would change. The
 * compiler treats an `ExactNumber` as a `JsonObject`.
 */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json | undefined }

export const isExactNumber = (value: unknown): value is ExactNumber => JSON.isRawJSON(value)

/** Whether a value is a JSON object. False for lists, null and exact numbers, although `typeof` calls them objects. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)
