import { fc } from '../../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import { fold, foldWithOffsets, lower } from '../../../functions/search/tokens/fold-text.ts'

const anyText = fc.string({ unit: 'binary' })

describe('folding', () => {
  it.each([
    ['Café', 'Cafe'],
    ['Straße', 'Strasse'],
    ['ＡＢＣ１２３', 'ABC123'],
    ['ﬁle…', 'file...'],
    ['e\u0301te\u0301', 'ete'],
    ['Łódź', 'Lodz'],
    ['がぎ', 'がぎ'],
    ['й', 'и'],
    ['Ёлка', 'Елка'],
    ['ΐ', 'ι'],
    ['مُحَمَّـد', 'محمد'],
    ['שָׁלוֹם', 'שלום'],
    ['हिन्दी', 'हिनदी'],
    ['soft\u00adware', 'software'],
    ['❤️ 1️⃣', '❤ 1'],
    ['中文', '中文'],
  ])('changes %s to %s', (text, folded) => {
    expect(fold(text)).toBe(folded)
  })

  it('is idempotent', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(fold(fold(text))).toBe(fold(text))
      }),
    )
  })

  it('maps an offset of the folded text to the original text', () => {
    const { text, original } = foldWithOffsets('a…b Straße ﬁn')
    expect(text).toBe('a...b Strasse fin')
    expect([0, 1, 2, 3, 4].map(original)).toEqual([0, 1, 1, 1, 2])
    expect(original(text.indexOf('fin'))).toBe('a…b Straße ﬁn'.indexOf('ﬁ'))
    expect(original(text.length)).toBe('a…b Straße ﬁn'.length)
  })

  it('gives equal text with and without offsets', () => {
    const pieces = [
      ...'aeßøé\u0301\u200d\u00ad\ufeff\u0640\u064f\u0645가\u1112\u1161\u11abかｶﾞ\u3099न\u094d',
      '👨',
      '\ufe0f',
    ]
    const mixed = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(mixed, (text) => {
        expect(foldWithOffsets(text).text).toBe(fold(text))
      }),
    )
  })

  it('maps every offset into the original text, in order', () => {
    fc.assert(
      fc.property(anyText, (raw) => {
        const { text, original } = foldWithOffsets(raw)
        const places = Array.from({ length: text.length + 1 }, (_, unit) => original(unit))
        expect(places).toEqual(places.toSorted((left, right) => left - right))
        expect(places.every((place) => place >= 0 && place <= raw.length)).toBe(true)
      }),
    )
  })

  it('keeps the length when it changes letters to lower case', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(lower(text)).toHaveLength(text.length)
      }),
    )
    expect(lower('İSTANBUL')).toBe('İstanbul')
  })
})
