import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Item } from '../../../functions/adapters/dynamodb/attributes.ts'

/** Counts the bytes of an item as DynamoDB does: names and texts in UTF-8, and one byte for every two digits of a number. */
export const itemBytes = (item: Item): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0)

/** Counts the bytes of one value. */
export function valueBytes(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S)
  if (value.N !== undefined) return Math.ceil(value.N.length / 2) + 1
  return 1
}
