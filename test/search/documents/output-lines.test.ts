/* Evidence, limits: `read_output` does not block other work, whatever it reads. */
import { fc } from '../../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import { findLines, pickLines } from '../../../functions/search/documents/output-lines.ts'
import { eachRow } from '../../../functions/search/documents/output-rows.ts'

const LINES = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`).join('\n')
const nothing = (): void => undefined
const outputOf = (text: string) => ({ name: 'output:x', toolName: 'shell', pieces: piecesOf(text, 7), resume: nothing })
/** Removes the tool's name and the number of lines. */
const said = (text: string): string => text.replace(/ \(shell, [\d]+ lines?\)/u, '')
const pick = async (text: string, first: number, last = Infinity): Promise<string> =>
  said(await pickLines(outputOf(text), { first, last }))
const find = async (text: string, pattern: string, around = 0): Promise<string> =>
  said(await findLines(outputOf(text), pattern, around))

function* piecesOf(text: string, size: number): Generator<string> {
  for (let place = 0; place < text.length; place += size) yield text.slice(place, place + size)
}
async function rowsOf(text: string, size = 7, pattern?: string): Promise<{ text: string; matched: boolean }[]> {
  const rows: { text: string; matched: boolean }[] = []
  await eachRow(piecesOf(text, size), pattern, nothing, (row, matched) => rows.push({ text: row, matched }))
  return rows
}

describe('reading an output by lines', () => {
  it('numbers the lines from 1', async () => {
    expect(await pick(LINES, 2, 3)).toBe('output:x, lines 2-3:\n2: line 2\n3: line 3')
  })

  it('stops at the end of the output, and says that there is no line after the last one', async () => {
    expect(await pick(LINES, 20, 99)).toBe('output:x, lines 20-20:\n20: line 20')
    expect(await pick(LINES, 21)).toBe('output:x: there is no line 21.')
  })

  it('is limited in size, and names the line at which to continue', async () => {
    const long = 'y'.repeat(999).concat('\n').repeat(100)
    const text = await pick(long, 1)
    expect(text.length).toBeLessThan(13_000)
    expect(text).toMatch(/go on with lines \d+-\)$/)
  })

  it('a very long line is split into several rows', async () => {
    const rows = await rowsOf(`${'a'.repeat(2_500)}\nb`)
    expect(rows.map(({ text }) => text.length)).toEqual([1_000, 1_000, 500, 1])
  })

  it('rows of any text contain all of it, in whole characters', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), fc.nat(3_000), async (text, repeat) => {
        const whole = text.repeat(1 + (repeat % 40)).replaceAll('\r', '')
        const rows = await rowsOf(whole, 5_000)
        expect(rows.map((row) => row.text).join('')).toBe(whole.replaceAll('\n', ''))
        expect(rows.every((row) => row.text.isWellFormed())).toBe(true)
      }),
    )
  })
})

describe('searching an output for a text', () => {
  it('shows the matching lines with their neighbours, ignoring case', async () => {
    expect(await find(LINES, 'LINE 7', 1)).toBe('output:x, 1 line matches "LINE 7":\n6: line 6\n7: line 7\n8: line 8')
  })

  it('marks omitted lines between two matches', async () => {
    expect(await find('a\nb\nc\nd\na', 'a')).toBe('output:x, 2 lines match "a":\n1: a\n…\n5: a')
  })

  it('treats every character of the pattern literally', async () => {
    expect(await find('a+b\naab', 'a+b')).toContain('1: a+b')
    expect(await find('a+b\naab', 'a+b')).not.toContain('aab')
    expect(await find('x', '(((')).toBe('output:x: nothing in it matches "(((".')
  })

  it('reports the number of further matches when not all fit', async () => {
    expect(await find('needle\n'.repeat(200), 'needle')).toMatch(/150 more lines match after line 50/)
    expect(await find('needle\n'.repeat(51), 'needle')).toMatch(/1 more line matches after line 50/)
  })

  it('matches the line in which an occurrence begins, however the output is split into chunks', async () => {
    const letters = fc.array(fc.constantFrom('a', 'b', 'B', '\n', '\u{1F600}'), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(letters, fc.constantFrom('ab', 'b', 'a\nb', 'aab'), fc.nat(9), async (units, pattern, size) => {
        const text = units.join('')
        const wanted = new Set<number>()
        const lowered = text.toLowerCase()
        for (let place = lowered.indexOf(pattern); place >= 0; place = lowered.indexOf(pattern, place + pattern.length))
          wanted.add(text.slice(0, place).split('\n').length - 1)
        const rows = await rowsOf(text, size + 1, pattern)
        expect(rows.flatMap(({ matched }, row) => (matched ? [row] : []))).toEqual([...wanted])
      }),
    )
  })
})
