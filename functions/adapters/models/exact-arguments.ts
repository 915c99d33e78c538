import { isExactNumber } from '../../domain/json.ts'
import { readJson } from '../../log/json/exact-json.ts'
import { jsonFault } from '../../log/json/json-size.ts'

/**
 * Arguments for a provider package that takes a parsed object and serialises it again: the same JSON comes out, numbers as
 * they were written (`12345678901234567890`, `4.0`), and the same bytes every time. An empty text means no arguments. Undefined
 * if it is not a JSON object of a bearable size.
 */
export function exactArguments(raw: string): object | undefined {
  if (raw.trim() === '') return {}
  if (jsonFault(raw) !== undefined) return undefined
  try {
    const value = readJson(raw)
    return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)
      ? value
      : undefined
  } catch {
    return undefined
  }
}
