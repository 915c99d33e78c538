import { fc } from '../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import { findLines, pickLines, rowsOf } from '../../functions/search/output-lines.ts'
import { PROMISED_TIME_RETRIES } from '../eventually.ts'

const LINES = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`).join('\n')
const pick = (text: string, first: number, last = Infinity): string =>
  pickLines('output:x', rowsOf(text), { first, last })
const find = (text: string, pattern: string, around = 0): string =>
  findLines('output:x', text, rowsOf(text), pattern, around)

describe('reading an output by lines', () => {
  it('numbers the lines from 1', () => {
    expect(pick(LINES, 2, 3)).toBe('output:x, lines 2-3:\n2: line 2\n3: line 3')
  })

  it('ends where the output ends, and says when there is no such line', () => {
    expect(pick(LINES, 20, 99)).toBe('output:x, lines 20-20:\n20: line 20')
    expect(pick(LINES, 21)).toBe('output:x: there is no line 21.')
  })

  it('is bounded, and says where to go on', () => {
    const long = 'y'.repeat(999).concat('\n').repeat(100)
    const text = pick(long, 1)
    expect(text.length).toBeLessThan(13_000)
    expect(text).toMatch(/go on with lines \d+-\)$/)
  })

  it('a very long line is several', () => {
    const rows = rowsOf(`${'a'.repeat(2_500)}\nb`)
    expect(rows.map(({ text }) => text.length)).toEqual([1_000, 1_000, 500, 1])
  })

  it('the rows of any text hold all of it, and no half character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(3_000), (text, repeat) => {
        const whole = text.repeat(1 + (repeat % 40)).replaceAll('\r', '')
        const rows = rowsOf(whole)
        expect(rows.map((row) => whole.slice(row.start, row.start + row.text.length))).toEqual(
          rows.map((row) => row.text),
        )
        expect(rows.map((row) => row.text).join('')).toBe(whole.replaceAll('\n', ''))
        expect(rows.every((row) => row.text.isWellFormed())).toBe(true)
      }),
    )
  })
})

describe('reading an output by a text', () => {
  it('shows the lines that have it, whatever its case, with their neighbours', () => {
    expect(find(LINES, 'LINE 7', 1)).toBe('output:x, 1 line matches "LINE 7":\n6: line 6\n7: line 7\n8: line 8')
  })

  it('shows that lines between are left out', () => {
    expect(find('a\nb\nc\nd\na', 'a')).toBe('output:x, 2 lines match "a":\n1: a\n…\n5: a')
  })

  it('nothing in it is syntax', () => {
    expect(find('a+b\naab', 'a+b')).toContain('1: a+b')
    expect(find('a+b\naab', 'a+b')).not.toContain('aab')
    expect(find('x', '(((')).toBe('output:x: nothing in it matches "(((".')
  })

  it('says how many lines are left when not all fit', () => {
    expect(find('needle\n'.repeat(200), 'needle')).toMatch(/150 more lines match after line 50/)
    expect(find('needle\n'.repeat(51), 'needle')).toMatch(/1 more line matches after line 50/)
  })

  it('takes no time even where nearly everything nearly matches', { retry: PROMISED_TIME_RETRIES }, () => {
    const start = performance.now()
    find('a'.repeat(1_000_000), `${'a'.repeat(199)}b`)
    expect(performance.now() - start).toBeLessThan(2_000)
  })
})
