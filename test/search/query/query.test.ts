import { fc } from '../../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import { MAX_TERMS, parseQuery } from '../../../functions/search/query/query.ts'

const terms = (query: string): string[] => parseQuery(query).terms.map(({ text }) => text)
const counted = (query: string): string[] =>
  parseQuery(query)
    .terms.filter(({ weight }) => weight === 1)
    .map(({ text }) => text)

describe('reading a query', () => {
  it.each([
    ['what came back on operations components and project', ['operations', 'components', 'project']],
    ['which call mentioned 241a70', ['241a70']],
    ['what did get_weather return for Amsterdam', ['get_weather', 'amsterdam']],
    ['the result about writing and utils', ['writing', 'utils']],
    ['do you remember where we saw the invoice of Acme?', ['invoice', 'acme']],
    ['remind me what the weather forecast for Oslo said', ['weather', 'forecast', 'oslo']],
  ])('reduces a question to its subject: %s', (query, subject) => {
    expect(counted(query)).toEqual(subject)
  })

  it('gives a question word after a subject word less weight than the subject word', () => {
    const [first, second] = parseQuery('which step had pattern and found').terms
    expect(first).toMatchObject({ text: 'pattern', weight: 1 })
    expect(second?.text).toBe('found')
    expect(second?.weight).toBeLessThan(1)
  })

  it('counts every keyword fully, also one that could open a question', () => {
    expect(counted('outputs directory research')).toEqual(['outputs', 'directory', 'research'])
  })

  it('searches for function words if a query has no other words', () => {
    expect(terms('to be or not to be')).toEqual(['to', 'be', 'or', 'not'])
  })

  it('searches for an identifier as a whole and by its words', () => {
    expect(parseQuery('getUserDetails').terms).toEqual([
      { text: 'getuserdetails', wholes: ['getuserdetails'], words: ['get', 'user', 'details'], weight: 1 },
    ])
    expect(parseQuery('include_dirs').terms[0]).toMatchObject({
      wholes: ['include_dirs', 'includedirs'],
      words: ['include', 'dirs'],
    })
  })

  it.each([
    ['what did I say about the invoice', 'user'],
    ['who asked for a refund', 'user'],
    ['what did you suggest for the layout', 'assistant'],
    ['where did the assistant explain replay', 'assistant'],
    ['which call mentioned the invoice', 'tool'],
    ['when did I run the tests', 'tool'],
    ['invoice refund', undefined],
  ])('finds the speaker in a query: %s', (query, speaker) => {
    expect(parseQuery(query).speaker).toBe(speaker)
  })

  it('searches for symbols only if there are no words', () => {
    expect(parseQuery('=> {').symbols).toEqual(['＝', '＞', '｛'])
    expect(parseQuery('=> ok').symbols).toEqual([])
    expect(terms('🎉')).toEqual(['🎉'])
  })

  it('accepts any string, and limits the number of terms', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (query) => {
        const parsed = parseQuery(query)
        expect(parsed.terms.length).toBeLessThanOrEqual(MAX_TERMS)
        expect(new Set(parsed.terms.map(({ text }) => text)).size).toBe(parsed.terms.length)
      }),
    )
    expect(terms('a '.repeat(300))).toEqual(['a'])
    expect(terms('x'.repeat(10_000)).length).toBeLessThanOrEqual(MAX_TERMS)
  })
})
