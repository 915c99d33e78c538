import type { Json } from './json.ts'

/** The text by which a metadata field is compared; undefined for lists, objects, null and fields that are not there. */
export function metadataText(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? JSON.stringify(value) : undefined
}
