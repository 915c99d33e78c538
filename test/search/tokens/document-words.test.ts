import { describe, expect, it } from 'vitest'
import type { HistoryDocument } from '../../../functions/domain/history.ts'
import { documentTokens } from '../../../functions/search/tokens/document-tokens.ts'
import { createDocumentReader, type DocumentReader } from '../../../functions/search/tokens/document-words.ts'
import { fc } from '../../generators/seeded.ts'

const base = { tenant: 'acme', session: 's-1', runId: 'r-1', messageId: 'm-1', agent: 'default', time: 0 }
const said = (text: string): HistoryDocument => ({ ...base, part: 'u', role: 'user', text })

/**
 * Characters for which two rules meet: joiners, capitals, digits, marks, characters that normalise to others,
 * surrogate pairs.
 */
const PIECES = [
  ...Array.from('abXYZ019_-./:@+#~ \n\t"({$=<>|`^%'),
  ...['é', 'e\u0301', 'ß', 'Σ', 'σ', 'İ', 'ﬁ', '½', '①', 'ﾊﾟ', '日', '本語', 'ー', '한', 'か', '…', '—', '’'],
  ...[
    '😀',
    '👍🏽',
    '✓',
    '\u00a0',
    '\u2028',
    '\u200b',
    '\u200d',
    '\u00ad',
    'ё',
    '\u0651',
    '\u0300',
    '\u00a8',
    '\ud800',
    'getUserName',
    'HTTPServer2',
  ],
  ...['x'.repeat(65), 'ab-'.repeat(40), '0123456789'.repeat(9), 'src/app/auth.py', 'a1b2c3'],
]
const texts = fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => pieces.join(''))

function expectSame(reader: DocumentReader, document: HistoryDocument): void {
  const { runs, ...fields } = reader.read(document)
  const { tool, call, body, extra } = documentTokens(document)
  expect(fields).toEqual({
    ...{ tool: tool.join(' '), call: call.join(' '), body: body.join(' '), extra: extra.join(' ') },
  })
  const words = [tool, call, body, extra].flat().filter((word) => /^[\p{L}\p{N}\p{M}]{3,}$/u.test(word))
  const wanted = new Set(words.filter((word) => word.length <= 64))
  expect(new Set(runs.flatMap(({ knowable }) => knowable.map((word) => word.text)))).toEqual(wanted)
}

describe('words of documents', () => {
  it('equal the tokens of the documents, whatever was read before', () => {
    const reader = createDocumentReader()
    const documents = fc.record({ text: texts, call: texts, role: fc.constantFrom('tool_call', 'tool_result') })
    fc.assert(
      fc.property(documents, ({ text, call, role }) => {
        expectSame(reader, { ...base, part: 'c', role, toolName: 'read_File2', call, text })
        expectSame(reader, said(text))
      }),
      { numRuns: 500 },
    )
  })

  it('stay correct when more words were read than the cache remembers', () => {
    const reader = createDocumentReader()
    const many = (first: number): string =>
      Array.from({ length: 2_000 }, (_, number) => `word${first + number} plain${(first + number).toString(36)}`).join(
        ' ',
      )
    for (let first = 0; first < 200_000; first += 2_000) reader.read(said(many(first)))
    expectSame(reader, said(many(0)))
    expectSame(reader, said(many(199_000)))
  })

  it('are distinct from other words with an equal hash', () => {
    const reader = createDocumentReader()
    for (const text of ['yvivst', 'csbxun', 'vlfqzo iqoyrh', 'iqoyrh vlfqzo']) expectSame(reader, said(text))
  })

  it('are those of the document that was read, even if the previous document ended with equal text', () => {
    const reader = createDocumentReader()
    for (const text of ['one two', 'two one two', 'two', 'one']) expectSame(reader, said(text))
  })
})
