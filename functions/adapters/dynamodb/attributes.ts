import type { AttributeValue } from '@aws-sdk/client-dynamodb'

/** An item as DynamoDB has it. */
export type Item = Readonly<Record<string, AttributeValue>>

/** What the attributes of this table hold; anything richer is JSON text, which keeps every character. */
export type Scalar = string | number | boolean

/** A value as DynamoDB takes it. */
export function toAttribute(value: Scalar): AttributeValue {
  if (typeof value === 'string') return { S: value }
  return typeof value === 'number' ? { N: String(value) } : { BOOL: value }
}

/** An item of these fields; undefined ones are left out. */
export function toItem(fields: Readonly<Record<string, Scalar | undefined>>): Item {
  const item: Record<string, AttributeValue> = {}
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) item[name] = toAttribute(value)
  return item
}

/** The text of this attribute; undefined when it is absent. */
export const textAt = (item: Item, name: string): string | undefined => item[name]?.S

/** The number of this attribute; undefined when it is absent. */
export function numberAt(item: Item, name: string): number | undefined {
  const number = item[name]?.N
  return number === undefined ? undefined : Number(number)
}

/** Whether this attribute is true; absent means false. */
export const flagAt = (item: Item, name: string): boolean => item[name]?.BOOL === true

/** The text of an attribute that every item of its kind has. */
export function requiredText(item: Item, name: string): string {
  const text = textAt(item, name)
  if (text === undefined) throw new Error(`item ${textAt(item, 'sk')} has no ${name}`)
  return text
}
