import { describe, expect, test } from 'vitest'
import {
  above,
  absent,
  all,
  any,
  below,
  between,
  createScope,
  is,
  present,
  renderChange,
  startsWith,
  together,
} from '../../../functions/adapters/dynamodb/expressions.ts'

describe('condition expressions', () => {
  test('use placeholders for all attributes and values, so that no name is a reserved word', () => {
    const scope = createScope()
    const condition = all(is('status', 'live'), any(absent('owner'), below('until', 5)), present('status'))
    expect(condition(scope)).toBe(
      '(#n0 = :v0) AND ((attribute_not_exists(#n1)) OR (#n2 < :v1)) AND (attribute_exists(#n0))',
    )
    expect(scope.collected()).toEqual({
      ExpressionAttributeNames: { '#n0': 'status', '#n1': 'owner', '#n2': 'until' },
      ExpressionAttributeValues: { ':v0': { S: 'live' }, ':v1': { N: '5' } },
    })
  })

  test('support comparisons, ranges and prefixes', () => {
    const scope = createScope()
    const condition = all(above('a', 1), between('b', 'x', 'y'), startsWith('c', 'z'))
    expect(condition(scope)).toBe('(#n0 > :v0) AND (#n1 BETWEEN :v1 AND :v2) AND (begins_with(#n2, :v3))')
  })

  test('have no name map and no value map if both are empty', () => expect(createScope().collected()).toEqual({}))
})

describe('update expressions', () => {
  test('have one clause for each kind of change and omit undefined values', () => {
    const scope = createScope()
    const change = { set: { a: 'x', b: undefined }, setIfAbsent: { c: 1 }, add: { d: -1 }, remove: ['e', 'f'] }
    expect(renderChange(change, scope)).toBe('SET #n0 = :v0, #n1 = if_not_exists(#n1, :v1) ADD #n2 :v2 REMOVE #n3, #n4')
  })

  test('combine two changes; the later change wins for the same attribute', () => {
    expect(together({ set: { a: 1, b: 1 }, remove: ['x'] }, { set: { b: 2 }, add: { c: 3 }, remove: ['y'] })).toEqual({
      set: { a: 1, b: 2 },
      setIfAbsent: {},
      add: { c: 3 },
      remove: ['x', 'y'],
    })
  })
})
