import { isExactNumber } from './json.ts'
import type { Json } from './json.ts'

/** The text by which a metadata field is compared; undefined for lists, objects, null and missing fields. */
export function metadataText(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value
  if (isExactNumber(value)) return value.rawJSON
  return typeof value === 'number' || typeof value === 'boolean' ? JSON.stringify(value) : undefined
}
