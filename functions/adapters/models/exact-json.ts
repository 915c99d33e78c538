import { jsonFault } from '../../log/json/json-size.ts'

/** Node has these (ES2026, "JSON.parse source text access"); the compiler's library does not yet. */
declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown
    rawJSON(text: string): object
    isRawJSON(value: unknown): boolean
  }
}

/**
 * Arguments for a provider package that takes a parsed object and serialises it again: the same JSON comes out, numbers as
 * they were written (`12345678901234567890`, `4.0`), and the same bytes every time. An empty text means no arguments. Undefined
 * if it is not a JSON object of a bearable size.
 */
export function exactArguments(raw: string): object | undefined {
  if (raw.trim() === '') return {}
  if (jsonFault(raw) !== undefined) return undefined
  try {
    const value: unknown = JSON.parse(raw, keepNumber)
    return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)
      ? value
      : undefined
  } catch {
    return undefined
  }
}

function keepNumber(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  return typeof value === 'number' && context.source !== undefined ? JSON.rawJSON(context.source) : value
}
