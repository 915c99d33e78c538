import { expect, test } from 'vitest'
import { matchesPattern } from './event-pattern.ts'

const event = { eventName: 'REMOVE', dynamodb: { Keys: { sk: { S: '#EXPIRY' }, n: { N: '7' } } }, size: 7 }

test.each<[string, unknown, boolean]>([
  ['every key must match', { eventName: ['REMOVE'], dynamodb: { Keys: { sk: { S: ['#KEY'] } } } }, false],
  ['one of several values is enough', { eventName: ['INSERT', 'REMOVE'] }, true],
  ['a prefix', { dynamodb: { Keys: { sk: { S: [{ prefix: '#' }] } } } }, true],
  ['a prefix of another value', { dynamodb: { Keys: { sk: { S: [{ prefix: '0' }] } } } }, false],
  ['a suffix', { eventName: [{ suffix: 'MOVE' }] }, true],
  ['letter case is ignored', { eventName: [{ 'equals-ignore-case': 'remove' }] }, true],
  ['an existing field', { dynamodb: { Keys: { sk: { S: [{ exists: true }] } } } }, true],
  ['an absent field', { userIdentity: { type: [{ exists: false }] } }, true],
  ['a missing object', { userIdentity: { type: ['Service'] } }, false],
  ['anything but a list', { eventName: [{ 'anything-but': ['INSERT', 'REMOVE'] }] }, false],
  ['anything but a prefix', { eventName: [{ 'anything-but': { prefix: 'IN' } }] }, true],
  ['a number in a range', { size: [{ numeric: ['>', 5, '<=', 7] }] }, true],
  ['a number of DynamoDB, which is text', { dynamodb: { Keys: { n: { N: [{ numeric: ['=', 7] }] } } } }, false],
  ['one branch of several', { $or: [{ eventName: ['INSERT'] }, { size: [7] }] }, true],
])('an event pattern is matched: %s', (_, pattern, expected) => {
  expect(matchesPattern(pattern, event)).toBe(expected)
})

test('an unknown rule is refused, not ignored', () => {
  expect(() => matchesPattern({ eventName: [{ cidr: '10.0.0.0/8' }] }, event)).toThrow('unknown rule: cidr')
})
