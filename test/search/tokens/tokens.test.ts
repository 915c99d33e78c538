import { fc } from '../../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import { camelParts, tokenize } from '../../../functions/search/tokens/tokens.ts'

const words = (text: string): readonly string[] => tokenize(text).words
const all = (text: string): readonly string[] => [...words(text), ...tokenize(text).extra]

describe('tokens', () => {
  it('are lower case words without accents, split at joiners', () => {
    expect(words('Café payment_method src/app/auth.py v1.2')).toEqual(
      'cafe payment method src app auth py v1 2'.split(' '),
    )
  })

  it.each([
    ['getUserDetails', ['get', 'user', 'details']],
    ['HTTPServer', ['http', 'server']],
    ['parseJSON', ['parse', 'json']],
    ['HAT083', ['hat', '083']],
    ['src/app/auth.py', ['src/app/auth.py', 'auth.py']],
    ['include_dirs', ['include_dirs', 'includedirs']],
    ['include-dirs', ['include-dirs', 'includedirs']],
  ])('include further forms of %s', (text, names) => {
    expect(tokenize(text).extra).toEqual(expect.arrayContaining(names))
  })

  it('include one common token for all spellings of an identifier', () => {
    for (const text of ['include_dirs', 'includeDirs', 'includedirs', 'include-dirs'])
      expect(all(text)).toContain('includedirs')
  })

  it('do not split codes of letters and digits', () => {
    expect(all('0a5f3c1')).toEqual(['0a5f3c1'])
    expect(camelParts('MQHHT6')).toEqual(['mqhht6'])
  })

  it('of CJK text are pairs of characters, and the single characters as extra tokens', () => {
    expect(words('插入布局')).toEqual(['插入', '入布', '布局'])
    expect(tokenize('插入布局').extra).toEqual(['插', '入', '布', '局'])
    expect(words('日')).toEqual(['日'])
    expect(words('第3章abc')).toEqual(['第', '3', '章', 'abc'])
  })

  it('include emoji as words, and other symbols as extra tokens in a distinct form', () => {
    expect(words('done 🎉')).toEqual(['done', '🎉'])
    expect(tokenize('a => b').extra).toEqual(['＝', '＞'])
  })

  it('of a very long word are its pieces', () => {
    expect(words('x'.repeat(150))).toEqual(['x'.repeat(64), 'x'.repeat(64), 'x'.repeat(22)])
  })

  it('contain no spaces, quotes or control characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        for (const token of all(text)) expect(token).not.toMatch(/[\s"\p{Cc}\p{Cs}\p{Co}]/u)
      }),
    )
  })

  it('do not depend on the neighbouring text', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (left, right) => {
        expect(words(`${left} ${right}`).filter((word) => !/[^\p{L}\p{N}\p{M}]/u.test(word))).toEqual(
          [...words(left), ...words(right)].filter((word) => !/[^\p{L}\p{N}\p{M}]/u.test(word)),
        )
      }),
    )
  })

  it('of ASCII text are the same beside letters of other scripts', () => {
    const ascii = fc.string({ unit: fc.constantFrom(...'abXY01-_./:@+#~ {"=\n') })
    fc.assert(
      fc.property(ascii, (text) => {
        const beside = tokenize(`${text} ж`)
        expect(tokenize(text)).toEqual({ words: beside.words.slice(0, -1), extra: beside.extra })
      }),
    )
  })
})
