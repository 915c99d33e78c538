import type { AttributeValue } from '@aws-sdk/client-dynamodb'

/** An item in the form of the DynamoDB client. */
export type Item = Readonly<Record<string, AttributeValue>>

/**
 * Values that attributes of this table can have. All other values are stored as JSON text, which preserves every
 * character.
 */
export type Scalar = string | number | boolean

/** Converts a value to an attribute. */
export function toAttribute(value: Scalar): AttributeValue {
  if (typeof value === 'string') return { S: value }
  return typeof value === 'number' ? { N: String(value) } : { BOOL: value }
}

/** Makes an item of these fields; undefined fields are omitted. */
export function toItem(fields: Readonly<Record<string, Scalar | undefined>>): Item {
  const item: Record<string, AttributeValue> = {}
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) item[name] = toAttribute(value)
  return item
}

/** Returns the text of this attribute; undefined if it is absent. */
export const textAt = (item: Item, name: string): string | undefined => item[name]?.S

/** Returns the number of this attribute; undefined if it is absent. */
export function numberAt(item: Item, name: string): number | undefined {
  const number = item[name]?.N
  return number === undefined ? undefined : Number(number)
}

/** Whether this attribute is true. Absent means false. */
export const flagAt = (item: Item, name: string): boolean => item[name]?.BOOL === true

/** Returns the text of an attribute that every item of its kind has. */
export function requiredText(item: Item, name: string): string {
  const text = textAt(item, name)
  if (text === undefined) throw new Error(`item ${textAt(item, 'sk')} has no ${name}`)
  return text
}
