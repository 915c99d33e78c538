import { isJsonObject } from '../../domain/json.ts'
import { readJson } from '../../log/json/exact-json.ts'
import { jsonFault } from '../../log/json/json-size.ts'

/**
 * Parses arguments for a provider package that serialises them again. Numbers keep their spelling (`12345678901234567890`,
 * `4.0`), and the bytes are the same every time. An empty text means no arguments. Returns undefined if the text is not a
 * JSON object within the size limit.
 */
export function exactArguments(raw: string): object | undefined {
  if (raw.trim() === '') return {}
  if (jsonFault(raw) !== undefined) return undefined
  try {
    const value = readJson(raw)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
