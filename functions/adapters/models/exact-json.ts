import { jsonFault } from '../../log/json/json-size.ts'

/**
 * Node has these functions (ES2026, "JSON.parse source text access"); the compiler's library does not have them yet.
 */
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
 * Parses arguments for a provider package that serializes them again. The output is the same JSON with numbers as they
 * were written (`12345678901234567890`, `4.0`), and the same bytes every time.
 * Empty text means no arguments. Undefined if the text is not a JSON object, or exceeds the size limits.
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
