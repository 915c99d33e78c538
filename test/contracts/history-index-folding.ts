import { beforeAll, describe, expect, test } from 'vitest'
import { document } from './history-index-harness.ts'
import type { HistoryIndexHarness } from './history-index-harness.ts'

/** Contract: search finds a word with and without diacritics and invisible characters. */
export function historyIndexFoldingContract(harness: () => HistoryIndexHarness): void {
  describe('a search ignores marks and invisible characters', () => {
    const pairs: readonly (readonly [string, string, string])[] = [
      ['Russian ё, searched as е', 'купили ёлку вчера', 'елку'],
      ['Russian е, searched as ё', 'белая береза сегодня', 'берёза'],
      ['Greek, searched without accent', 'η Αθήνα είναι εδώ', 'αθηνα'],
      ['Greek capitals, searched with accent', 'η ΣΠΑΡΤΗ είναι εκεί', 'Σπάρτη'],
      ['Greek dialytika', 'προϊόν νέο', 'προιον'],
      ['Arabic with vowel signs', 'قال مُحَمَّد إن العقد جاهز', 'محمد'],
      ['Arabic, searched with vowel signs', 'كتب خالد رسالة طويلة', 'خَالِد'],
      ['Arabic with lengthened letters', 'وصل عـــمر اليوم', 'عمر'],
      ['field/14/hebrew-points', 'אמר שָׁלוֹם לכולם', 'שלום'],
      ['field/14/hindi-nukta', 'यह ज़रूर होगा', 'जरूर'],
      ['field/14/letters-with-strokes', 'Łódź i Tromsø, Đakovo', 'lodz tromso dakovo'],
      ['Vietnamese', 'một đường phố dài', 'mot duong pho'],
      ['Kazakh descenders', 'Қарағанды қаласы', 'караганды'],
      ['a soft hyphen', 'a wonder\u00adful numbat', 'wonderful'],
      ['field/14/persian-zwnj', 'من می\u200cخواهم بروم', 'میخواهم'],
      ['field/14/marks-of-direction', 'der \u202apotoroo\u202c-Bericht', 'potoroo'],
      ['a zero-width joiner in the query', 'a plain quokka', 'quo\u200dkka'],
      ['a byte order mark', '\ufeffbandicoot first', 'bandicoot'],
      ['decomposed Hangul', '\u1112\u1161\u11ab\u1100\u1173\u11af 문서', '한글'],
    ]
    const scope = { tenant: 'folding' }
    const kept = pairs.map(([, text]) => document(text, scope))
    beforeAll(() => harness().store(kept))

    test.each(pairs.map(([name, , query], place) => [name, query, place] as const))(
      '%s',
      async (_name, query, place) => {
        const { hits } = await harness().index.search({ scope, text: query, filters: {}, limit: 20 })
        expect(hits[0]?.messageId).toBe(kept[place]?.messageId)
        expect(hits[0]?.snippet).toContain('«')
      },
    )

    test('the snippet shows the found words as the original text spells them', async () => {
      const snippet = async (text: string): Promise<string | undefined> =>
        (await harness().index.search({ scope, text, filters: {}, limit: 1 })).hits[0]?.snippet
      expect(await snippet('محمد')).toContain('«مُحَمَّد»')
      expect(await snippet('wonderful')).toContain('«wonder\u00adful»')
    })

    test('vowel signs of Hindi and the marks of kana are not ignored', async () => {
      const scope = { tenant: 'folding-not' }
      await harness().store([document('किताब मेज पर है', scope), document('ガラスの靴', scope)])
      const found = async (text: string): Promise<number> =>
        (await harness().index.search({ scope, text, filters: {}, limit: 5 })).hits.length
      expect([await found('किताब'), await found('कतब'), await found('ガ'), await found('カ')]).toEqual([1, 0, 1, 0])
    })
  })
}
