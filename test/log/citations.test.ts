/* Evidence, replay: Citations are found in linear time, and never in code. Uncited sources are dropped from later requests
 * once. */
import { fc } from '../generators/seeded.ts'
import { describe, expect, it, test } from 'vitest'
import { rangesOf } from '../../functions/domain/messages/number-ranges.ts'
import { citationsAfter, citedNumbers } from '../../functions/log/citations.ts'

const cited = (text: string): number[] => [...citedNumbers(text)].toSorted((one, other) => one - other)

describe('the citation parser', () => {
  it.each<readonly [text: string, numbers: number[]]>([
    ['[source3]', [3]],
    ['It is so [source 3].', [3]],
    ['[Source 3] and [SOURCES 4]', [3, 4]],
    ['[source3, source7]', [3, 7]],
    ['[sources 3 and 7]', [3, 7]],
    ['[sources 3, 7 and 9-11]', [3, 7, 9, 10, 11]],
    ['[sources 3, 7, and 9–11]', [3, 7, 9, 10, 11]],
    ['[source3 & source7 source 8]', [3, 7, 8]],
    ['[sources 3 - 5]', [3, 4, 5]],
    ['[sources\n3,\n4]', [3, 4]],
    ['[[source3]]', [3]],
    ['[sources 1-100]', Array.from({ length: 100 }, (_, place) => place + 1)],
  ])('reads the citation %j', (text, numbers) => expect(cited(text)).toEqual(numbers))

  it.each([
    ['source3', '(source3)', '[3]', '[resource3]', '[source]', '[sources and 3]', '[source3: more]', '[source 3.5]'],
    ['[sources 5-3]', '[sources 1-101]', '[source-3]', '[source3', '[see source3]'],
    ['`[source3]`', 'a ``b ` [source3]`` c', '```\n[source3]\n```', '~~~md\n[source3]\n```\n[source4]\n~~~'],
    ['```\n[source3] without an end', '   ```js\n[source3]\n   ```', '````\n```\n[source3]\n````'],
  ])('finds no citation in %j, %j, %j, %j', (...texts) =>
    expect(texts.flatMap((text) => cited(text ?? ''))).toEqual([]),
  )

  it('finds citations after closed code, and after a backtick that is never closed', () => {
    expect(cited('```\n[source1]\n```\n[source2] `[source3]` [source4] ` [source5]\n\n` [source6]')).toEqual([
      2, 4, 5, 6,
    ])
    expect(cited('```a`b``` [source7]')).toEqual([7])
  })

  it('finds a citation in every spelling, but never within code', () => {
    const number = fc.integer({ min: 1, max: 999 })
    const range = fc.tuple(number, fc.integer({ min: 0, max: 99 }), fc.constantFrom('-', '–', ' - ', ' – '))
    const item = fc.oneof(
      number.map((one) => ({ text: String(one), numbers: [one] })),
      range.map(([from, more, dash]) => ({
        text: `${from}${dash}${from + more}`,
        numbers: Array.from({ length: more + 1 }, (_, place) => from + place),
      })),
    )
    const separator = fc.constantFrom(', ', ',', ' and ', ' & ', ', and ', ', source', ' source ', ' and sources ')
    const word = fc.constantFrom('source', 'Sources ', 'SOURCE', 'sources  ')
    const citation = fc
      .tuple(word, fc.array(fc.tuple(item, separator), { minLength: 1, maxLength: 5 }))
      .map(([begin, items]) => ({
        text: `[${begin}${items.map(([one, after], at) => one.text + (at + 1 < items.length ? after : '')).join('')}]`,
        numbers: items.flatMap(([one]) => one.numbers),
      }))
    fc.assert(
      fc.property(citation, fc.stringMatching(/^[a-z .\n]{0,20}$/), ({ text, numbers }, around) => {
        const sorted = [...new Set(numbers)].toSorted((one, other) => one - other)
        expect(cited(`${around}${text}${around}`)).toEqual(sorted)
        expect(cited(`${around}\`${text}\` ${around}`)).toEqual([])
        expect(cited(`${around}\n~~~\n${text}\n~~~\n${around}`)).toEqual([])
      }),
    )
  })

  it('finishes on 400,000 characters of unfinished citations and code', () => {
    for (const piece of ['[', '`', '[source', '[sources 1,', '``` ` ', '[source1] `', ' ', '[source 1 '])
      expect(cited(piece.repeat(Math.ceil(400_000 / piece.length))).length).toBeLessThanOrEqual(1)
    const runs = Array.from({ length: 1_500 }, (_, place) => '`'.repeat(place + 1)).join(' ')
    expect(cited(`${runs} [source1]`)).toEqual([1])
  })
})

test('a turn adds its citations to the cited numbers; a turn without citations drops no sources', () => {
  const first = citationsAfter('As [source2] says [source99].', [1, 2, 3], 3)
  expect(first).toEqual({
    cited: [[2, 2]],
    uncited: [
      [1, 1],
      [3, 3],
    ],
    left: [
      [1, 1],
      [3, 3],
    ],
  })
  const nothing = citationsAfter('No word of them.', [4, 5], 5, first)
  expect(nothing).toEqual({
    cited: [[2, 2]],
    uncited: [
      [1, 1],
      [3, 5],
    ],
    left: [
      [1, 1],
      [3, 3],
    ],
  })
  const later = citationsAfter('Also [sources 3-4].', [], 5, nothing)
  expect(later).toEqual({
    cited: [[2, 4]],
    uncited: [
      [1, 1],
      [3, 5],
    ],
    left: [
      [1, 1],
      [3, 3],
    ],
  })
  expect(citationsAfter('Nothing [source6].', [], 5, later)).toBeUndefined()
})

test('number ranges contain exactly the numbers they were built from', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40 })), (numbers) => {
      const ranges = rangesOf(numbers)
      const held = ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, place) => from + place))
      expect(held).toEqual([...new Set(numbers)].toSorted((one, other) => one - other))
    }),
  )
})
