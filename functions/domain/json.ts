/** Node has these (ES2026, "JSON.parse source text access"); the compiler's library does not yet. */
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
 * A number with its spelling, where a number of JavaScript would have another one: `10.00`, `1e3`, integers beyond 2^53.
 * `JSON.stringify` writes it as it was sent. It is made by `readJson` (`functions/log/json/exact-json.ts`); a copy of its field is
 * none, so code that copies a value field by field asks `isExactNumber` first.
 */
export type ExactNumber = { readonly rawJSON: string }

/**
 * A value that JSON can carry. Values from outside have an `ExactNumber` wherever a number would change its spelling; to the compiler
 * it is a `JsonObject`.
 */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json | undefined }

export const isExactNumber = (value: unknown): value is ExactNumber => JSON.isRawJSON(value)

/** Whether a value is an object of JSON: no list, no null, and no exact number, which has an object's form. */
export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)
