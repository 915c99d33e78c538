import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { toAttribute, type Scalar } from './attributes.ts'

/**
 * Collects the names and values of one request. Each name is replaced by a placeholder, because it may be a reserved
 * word.
 */
interface Scope {
  name(attribute: string): string
  value(value: Scalar): string
}

/** A condition on an item. */
export type Condition = (scope: Scope) => string

/** Whether the attribute has this value. */
export const is =
  (attribute: string, value: Scalar): Condition =>
  (scope) =>
    `${scope.name(attribute)} = ${scope.value(value)}`

/** Whether the attribute exists and is less than this value. */
export const below =
  (attribute: string, value: Scalar): Condition =>
  (scope) =>
    `${scope.name(attribute)} < ${scope.value(value)}`

/** Whether the attribute exists and is greater than this value. */
export const above =
  (attribute: string, value: Scalar): Condition =>
  (scope) =>
    `${scope.name(attribute)} > ${scope.value(value)}`

/** Whether the attribute exists and is at most this value. */
export const atMost =
  (attribute: string, value: Scalar): Condition =>
  (scope) =>
    `${scope.name(attribute)} <= ${scope.value(value)}`

/** Whether the attribute begins with this text. */
export const startsWith =
  (attribute: string, text: string): Condition =>
  (scope) =>
    `begins_with(${scope.name(attribute)}, ${scope.value(text)})`

/** Whether the attribute exists and is from `from` to `to`, both included. */
export const between =
  (attribute: string, from: Scalar, to: Scalar): Condition =>
  (scope) =>
    `${scope.name(attribute)} BETWEEN ${scope.value(from)} AND ${scope.value(to)}`

/** Whether the attribute is absent. For a key attribute: whether the item is absent. */
export const absent =
  (attribute: string): Condition =>
  (scope) =>
    `attribute_not_exists(${scope.name(attribute)})`

/** Whether the attribute exists. */
export const present =
  (attribute: string): Condition =>
  (scope) =>
    `attribute_exists(${scope.name(attribute)})`

/** Whether all conditions are true. */
export const all =
  (...conditions: readonly Condition[]): Condition =>
  (scope) =>
    conditions.map((condition) => `(${condition(scope)})`).join(' AND ')

/** Whether at least one condition is true. */
export const any =
  (...conditions: readonly Condition[]): Condition =>
  (scope) =>
    conditions.map((condition) => `(${condition(scope)})`).join(' OR ')

/** Changes of an item. An undefined value sets nothing. */
export interface Change {
  readonly set?: Readonly<Record<string, Scalar | undefined>>
  readonly setIfAbsent?: Readonly<Record<string, Scalar>>
  readonly add?: Readonly<Record<string, number>>
  readonly remove?: readonly string[]
}

/** Combines changes. They must not change the same attribute. */
export function together(...changes: readonly Change[]): Change {
  return {
    set: Object.fromEntries(changes.flatMap((change) => Object.entries(change.set ?? {}))),
    setIfAbsent: Object.fromEntries(changes.flatMap((change) => Object.entries(change.setIfAbsent ?? {}))),
    add: Object.fromEntries(changes.flatMap((change) => Object.entries(change.add ?? {}))),
    remove: changes.flatMap((change) => change.remove ?? []),
  }
}

/** Expressions with their names and values. */
export interface Rendered {
  readonly ExpressionAttributeNames?: Record<string, string>
  readonly ExpressionAttributeValues?: Record<string, AttributeValue>
}

interface Collector extends Scope {
  collected(): Rendered
}

/** Creates a scope that numbers names and values in the order of their use. */
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

/** Returns the update expression of a change. */
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
