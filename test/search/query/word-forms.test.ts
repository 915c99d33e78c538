import { fc } from '../../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import { inflections, typosOf, withinOneTypo } from '../../../functions/search/query/word-forms.ts'

describe('word forms', () => {
  it.each([
    ['conversions', 'conversion'],
    ['conversion', 'conversions'],
    ['batches', 'batch'],
    ['cities', 'city'],
    ['city', 'cities'],
    ['stopped', 'stop'],
    ['stop', 'stopping'],
    ['fetching', 'fetch'],
    ['saving', 'save'],
    ['save', 'saved'],
    ['planned', 'plan'],
    ['go', 'went'],
    ['went', 'go'],
    ['bought', 'buy'],
    ['children', 'child'],
    ['november', 'nov'],
  ])('%s has the form %s', (word, form) => {
    expect(inflections(word)).toContain(form)
  })

  it.each(['id', 'HAT083', 'x_y', '中文'])('%s has no other forms', (word) => {
    expect(inflections(word)).toEqual([])
  })

  it.each([
    ['amouet', 'amount', 'a letter changed'],
    ['cnfig', 'config', 'missing'],
    ['originjal', 'original', 'too many'],
    ['primray', 'primary', 'two swapped'],
  ])('%s is one typo away from %s: %s', (left, right) => {
    expect(withinOneTypo(left, right)).toBe(true)
    expect(withinOneTypo(right, left)).toBe(true)
  })

  it.each([
    ['amount', 'account'],
    ['abcd', 'badc'],
    ['form', 'frames'],
  ])('%s is more than one typo away from %s', (left, right) => {
    expect(withinOneTypo(left, right)).toBe(false)
  })

  it('typos of a short word are exactly the words one edit away', () => {
    const short = fc.stringMatching(/^[a-d]{3,5}$/)
    fc.assert(
      fc.property(short, short, (word, other) => {
        const typos = typosOf(word)
        expect(typos.every((typo) => withinOneTypo(word, typo))).toBe(true)
        if (other !== word) expect(typos.includes(other)).toBe(withinOneTypo(word, other))
      }),
    )
  })
})
