import { expect, test } from 'vitest'
import { createRecent } from '../../../functions/domain/cache/lru-cache.ts'

test('the least recently used value is evicted first', () => {
  const recent = createRecent<string>(10)
  recent.set('a', 'A', 4)
  recent.set('b', 'B', 4)
  expect(recent.get('a')).toBe('A')
  recent.set('c', 'C', 4)
  expect(['a', 'b', 'c'].map((name) => recent.get(name))).toEqual(['A', undefined, 'C'])
})

test('a replaced value counts once, a removed value does not count, and an oversized value is not stored', () => {
  const recent = createRecent<string>(10)
  for (let time = 0; time < 5; time++) recent.set('a', 'A', 4)
  recent.set('b', 'B', 6)
  expect(recent.take('a')).toBe('A')
  expect(recent.get('a')).toBeUndefined()
  recent.set('c', 'C', 4)
  recent.set('d', 'D', 11)
  expect(['b', 'c', 'd'].map((name) => recent.get(name))).toEqual(['B', 'C', undefined])
})
