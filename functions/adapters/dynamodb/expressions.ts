import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { toAttribute, type Scalar } from './attributes.ts'

/** Collects the names and values of one request, so that no attribute name can be a reserved word. */
interface Scope {
  name(attribute: string): string
  value(value: Scalar): string
}

/** What must hold of an item. */
export type Condition = (scope: Scope) => string

/** The attribute has this value. */
export const is =
  (attribute: string, value: Scalar): Condition =>
  (scope) =>
    `${scope.name(attribute)} = ${scope.value(value)}`

/** The attribute is there and less than this value. */
export const below =
  (attribute: string, value: Scalar): Condition =>
  (scope) =>
    `${scope.name(attribute)} < ${scope.value(value)}`

/** The attribute is there and greater than this value. */
export const above =
  (attribute: string, value: Scalar): Condition =>
  (scope) =>
    `${scope.name(attribute)} > ${scope.value(value)}`

/** The attribute is there and not greater than this value. */
export const atMost =
  (attribute: string, value: Scalar): Condition =>
  (scope) =>
    `${scope.name(attribute)} <= ${scope.value(value)}`

/** The attribute begins with this text. */
export const startsWith =
  (attribute: string, text: string): Condition =>
  (scope) =>
    `begins_with(${scope.name(attribute)}, ${scope.value(text)})`

/** The attribute is there and neither less than `from` nor greater than `to`. */
export const between =
  (attribute: string, from: Scalar, to: Scalar): Condition =>
  (scope) =>
    `${scope.name(attribute)} BETWEEN ${scope.value(from)} AND ${scope.value(to)}`

/** The attribute is not there; of the key: the item is not there. */
export const absent =
  (attribute: string): Condition =>
  (scope) =>
    `attribute_not_exists(${scope.name(attribute)})`

/** The attribute is there. */
export const present =
  (attribute: string): Condition =>
  (scope) =>
    `attribute_exists(${scope.name(attribute)})`

/** Each of these holds. */
export const all =
  (...conditions: readonly Condition[]): Condition =>
  (scope) =>
    conditions.map((condition) => `(${condition(scope)})`).join(' AND ')

/** One of these holds. */
export const any =
  (...conditions: readonly Condition[]): Condition =>
  (scope) =>
    conditions.map((condition) => `(${condition(scope)})`).join(' OR ')

/** How an item changes. An undefined value sets nothing. */
export interface Change {
  readonly set?: Readonly<Record<string, Scalar | undefined>>
  readonly setIfAbsent?: Readonly<Record<string, Scalar>>
  readonly add?: Readonly<Record<string, number>>
  readonly remove?: readonly string[]
}

/** All of these changes at once; they must not touch the same attribute. */
export function together(...changes: readonly Change[]): Change {
  return {
    set: Object.fromEntries(changes.flatMap((change) => Object.entries(change.set ?? {}))),
    setIfAbsent: Object.fromEntries(changes.flatMap((change) => Object.entries(change.setIfAbsent ?? {}))),
    add: Object.fromEntries(changes.flatMap((change) => Object.entries(change.add ?? {}))),
    remove: changes.flatMap((change) => change.remove ?? []),
  }
}

/** Expressions with the names and values that they use. */
export interface Rendered {
  readonly ExpressionAttributeNames?: Record<string, string>
  readonly ExpressionAttributeValues?: Record<string, AttributeValue>
}

interface Collector extends Scope {
  collected(): Rendered
}

/** A scope that numbers names and values as they come. */
export function createScope(): Collector {
  const names = new Map<string, string>()
  const values: AttributeValue[] = []
  return {
    name(attribute) {
      const known = names.get(attribute) ?? `#n${names.size}`
      names.set(attribute, known)
      return known
    },
    value(value) {
      values.push(toAttribute(value))
      return `:v${values.length - 1}`
    },
    collected: () => ({
      ...(names.size === 0
        ? {}
        : { ExpressionAttributeNames: Object.fromEntries([...names].map(([name, mark]) => [mark, name])) }),
      ...(values.length === 0
        ? {}
        : { ExpressionAttributeValues: Object.fromEntries(values.map((value, place) => [`:v${place}`, value])) }),
    }),
  }
}

/** The update expression of a change. */
export function renderChange(change: Change, scope: Scope): string {
  const { name, value } = scope
  const sets = [
    ...Object.entries(change.set ?? {}).flatMap(([attribute, to]) =>
      to === undefined ? [] : [`${name(attribute)} = ${value(to)}`],
    ),
    ...Object.entries(change.setIfAbsent ?? {}).map(
      ([attribute, to]) => `${name(attribute)} = if_not_exists(${name(attribute)}, ${value(to)})`,
    ),
  ]
  const adds = Object.entries(change.add ?? {}).map(([attribute, by]) => `${name(attribute)} ${value(by)}`)
  const removes = (change.remove ?? []).map(name)
  const clause = (word: string, parts: readonly string[]): string[] =>
    parts.length === 0 ? [] : [`${word} ${parts.join(', ')}`]
  return [...clause('SET', sets), ...clause('ADD', adds), ...clause('REMOVE', removes)].join(' ')
}
