import { fc } from '../../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import { snippet, SNIPPET, withoutMarks } from '../../../functions/search/documents/snippet.ts'
import { plan } from '../made-vocabulary.ts'

const mark = (query: string, text: string): string => snippet(text, plan(query, [text]).terms)

describe('snippets', () => {
  it('mark the found words', () => {
    expect(mark('refund', 'a Refund, please')).toBe('a «Refund», please')
  })

  it('mark no parts of other words if the word itself occurs', () => {
    expect(mark('art', 'art and party')).toBe('«art» and party')
    expect(mark('art', 'a party')).toBe('a p«art»y')
  })

  it('merge marks that touch, or have only a joiner or a space between them', () => {
    expect(mark('payment method', 'the payment_method and the payment method')).toBe(
      'the «payment_method» and the «payment method»',
    )
    expect(mark('插入布局', '请插入布局。')).toBe('请«插入布局»。')
  })

  it('mark the original text, also where folding changed its length', () => {
    expect(mark('cafe strasse', 'Über… Café an der Straße')).toBe('Über… «Café» an der «Straße»')
  })

  it('show the section with the found words', () => {
    const text = `${'before '.repeat(100)}the needle is here ${'after '.repeat(100)}`
    expect(mark('needle', text)).toMatch(/^….*the «needle» is here.*…$/)
  })

  it('keep quotation marks of the text that look like the marks of found words', () => {
    expect(mark('refund', '«a» refund')).toBe('«a» «refund»')
    expect(withoutMarks('a «refund»')).toBe('a refund')
  })

  it('replace line breaks with spaces', () => {
    expect(mark('two', 'one\n\ttwo\r\nthree')).toBe('one «two» three')
  })

  it('have at most 300 characters, all of them whole', () => {
    const word = fc.stringMatching(/^[a-c]{1,2}$/)
    const text = fc.array(fc.oneof(word, fc.string({ unit: 'grapheme', maxLength: 20 }), fc.constant('🎉')), {
      maxLength: 300,
    })
    fc.assert(
      fc.property(fc.array(word, { maxLength: 5 }), text, (query, parts) => {
        const shown = mark(query.join(' '), parts.join(' '))
        expect(Array.from(shown).length).toBeLessThanOrEqual(SNIPPET)
        expect(shown.isWellFormed()).toBe(true)
      }),
    )
  })

  it('equal a section of the text after their marks are removed', () => {
    const text = fc.array(fc.stringMatching(/^[a-d]{1,3}$/), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(text, fc.nat(199), (words, pick) => {
        const whole = words.join(' ')
        const shown = mark(words[pick % words.length] ?? 'a', whole)
        expect(whole).toContain(withoutMarks(shown).replace(/^…|…$/gu, '').trim())
      }),
    )
  })
})
