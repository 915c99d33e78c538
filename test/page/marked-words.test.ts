import { expect, test } from 'vitest'
import { hasMark, patternOf } from '../../page/text/word-pattern.ts'

/** Marked words of a text. */
const marks = (words: string, text: string): string[] => {
  const pattern = patternOf(words)
  return pattern === undefined ? [] : [...text.matchAll(pattern)].map(([word]) => word)
}

test.each([
  ['deploy failed', 'Deployment FAILED: deploy again', ['Deploy', 'FAILED', 'deploy']],
  ['is no', 'this is not a noise, no', ['is', 'no']],
  ['a.b* (c) [d-e]', 'axb a.b* (c) [d-e]', ['a.b*', '(c)', '[d-e]']],
  ['café', 'Le CAFÉ, cafe', ['CAFÉ']],
  ['木箱', '青い木箱が', ['木箱']],
  ['pool pooling', 'pooling', ['pooling']],
])('the words %j are marked in %j', (words, text, marked) => {
  expect(marks(words, text)).toEqual(marked)
})

test('nothing is marked if an address has no words, or only words that are too long', () => {
  expect([patternOf(''), patternOf('  '), patternOf('x'.repeat(65))]).toEqual([undefined, undefined, undefined])
  expect([hasMark('a crate', patternOf('crate')), hasMark('a crate', undefined)]).toEqual([true, false])
})

test('a pattern finds the same words in repeated searches', () => {
  const pattern = patternOf('crate')
  expect([hasMark('a crate', pattern), hasMark('a crate', pattern)]).toEqual([true, true])
})
