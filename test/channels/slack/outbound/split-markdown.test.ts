/* Evidence, deliveries: A long answer reaches Slack completely, even if Slack accepts no file or an upload address has
 * expired. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pieceEnd, renderPiece, sureEnd } from '../../../../functions/channels/slack/outbound/split-markdown.ts'

/** Returns the posted parts of the text, with the offsets of each. */
function split(text: string): { readonly from: number; readonly to: number; readonly shown: string }[] {
  const pieces = []
  for (let from = 0; from < text.length;) {
    const to = pieceEnd(text, from)
    pieces.push({ from, to, shown: renderPiece(text, from, to) })
    from = to
  }
  return pieces
}

const words = fc.lorem({ maxCount: 40, mode: 'words' })
const paragraph = words.map((text) => `${text}.`)
const list = fc
  .array(fc.tuple(fc.constantFrom('- ', '* ', '1. ', '  - '), words), { minLength: 1, maxLength: 120 })
  .map((items) => items.map(([mark, text]) => mark + text).join('\n'))
const fence = fc
  .tuple(fc.constantFrom('```', '~~~~', '```ts', '```` c'), fc.array(words, { maxLength: 200 }))
  .map(([open, lines]) => [open, ...lines, /^\W+/.exec(open)?.[0].trim()].join('\n'))
const cell = fc.lorem({ maxCount: 8, mode: 'words' }).map((text) => text.replaceAll('word', 'a \\\\| b'))
const table = fc
  .record({
    rows: fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 200 }),
    dashes: fc.constantFrom('---|---|---', ':-: | :--- | ---:', '-|-|-'),
    hasOuterBars: fc.boolean(),
  })
  .map(({ rows, dashes, hasOuterBars }) =>
    ['n | host | note', dashes, ...rows.map((cells) => cells.join(' | '))]
      .map((line) => (hasOuterBars ? `| ${line} |` : line))
      .join('\n'),
  )
const link = fc
  .nat(300)
  .map((length) => `see [a ${'long '.repeat(length % 40)}name](https://example.com/${'x'.repeat(length)})`)
const document = fc
  .array(
    fc.oneof(
      paragraph,
      list,
      fence,
      link,
      table,
      fc.constant('word '.repeat(3_000)),
      fc.constant('x'.repeat(15_000)),
      fc.constant('😀'.repeat(7_000)),
    ),
    {
      minLength: 1,
      maxLength: 30,
    },
  )
  .map((blocks) => blocks.join('\n\n'))

const isBalanced = (text: string): boolean => {
  let open: string | undefined
  for (const line of text.split('\n')) {
    const [, mark, info = ''] = /^ {0,3}(`{3,}|~{3,})([^`\n]{0,200})$/.exec(line) ?? []
    if (mark === undefined) continue
    if (open === undefined) open = mark
    else if (mark[0] === open[0] && mark.length >= open.length && info.trim() === '') open = undefined
  }
  return open === undefined
}

describe('a split answer', () => {
  test('equals the answer except for repeated fences and table heads, and each chunk fits Slack’s limit', () => {
    fc.assert(
      fc.property(document, (text) => {
        const pieces = split(text)
        for (const { from, to, shown } of pieces) {
          expect(shown.length).toBeLessThanOrEqual(12_000)
          const own = text.slice(from, to)
          const at = shown.indexOf(own)
          expect(at).toBeGreaterThanOrEqual(0)
          const added = [shown.slice(0, at), shown.slice(at + own.length)].join('')
          expect(added).toMatch(
            /^(?:(?:`{3,}|~{3,})[^\n]*\n|[^\n]*n \| host \| note[^\n]*\n[|:\- ]+\n)?\n?(?:(?:`{3,}|~{3,}))?$/,
          )
        }
        expect(pieces.map(({ from, to }) => text.slice(from, to)).join('')).toBe(text)
      }),
      { numRuns: 60 },
    )
  })

  test('leaves no fence open', () => {
    fc.assert(
      fc.property(document, (text) => {
        for (const { shown } of split(text)) expect(isBalanced(shown)).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  test('splits no pair of surrogates and no link', () => {
    fc.assert(
      fc.property(document, (text) => {
        const ends = new Set(split(text).map(({ to }) => to))
        for (const end of ends) expect(text.slice(0, end).isWellFormed()).toBe(true)
        for (const { index, 0: found } of text.matchAll(/\[[^\]\n]*\]\([^)\s]*\)/g))
          for (const end of ends) expect(index < end && end < index + found.length).toBe(false)
      }),
      { numRuns: 60 },
    )
  })

  test('has chunk ends that do not move when the answer grows', () => {
    fc.assert(
      fc.property(document, document, (text, more) => {
        if (text.length < 13_000) return
        expect(pieceEnd(text + more, 0)).toBe(pieceEnd(text, 0))
      }),
      { numRuns: 60 },
    )
  })
})

const filler = (length: number): string => `${'word '.repeat(length / 5)}`.trimEnd()

test('a text is split at the end of a paragraph rather than inside a list, fence or table', () => {
  for (const block of [
    '- item\n'.repeat(500),
    `\`\`\`ts\n${'code()\n'.repeat(500)}\`\`\``,
    '| a | b |\n'.repeat(500),
  ]) {
    const text = `${filler(4_000)}\n\n${filler(5_000)}\n\n${block}\n\nThe end.`
    const [first] = split(text)
    expect(first?.shown.endsWith('word\n\n')).toBe(true)
  }
})

test('a fence longer than a message is closed, and reopened with its language', () => {
  const text = `\`\`\`python\n${'print("hello")\n'.repeat(2_000)}\`\`\`\n`
  const pieces = split(text)
  expect(pieces.length).toBeGreaterThan(2)
  for (const { shown } of pieces) expect(shown).toMatch(/^```python\n[^]*\n```\n?$/)
})

test.each([
  ['10. A step:\n', '    ```bash\n', '    '],
  ['- One:\n    - Two:\n\n', '      ```bash\n', '      '],
  ['', '- ```bash\n', '  '],
])('a fence in a list item is closed and reopened: %j', (before, opening, indent) => {
  const text = `${before}${opening}${`${indent}run --all --the --steps\n`.repeat(1_500)}${indent}\`\`\`\n- next`
  const pieces = split(text)
  expect(pieces.length).toBeGreaterThan(2)
  for (const { shown } of pieces) expect(shown.match(/^[-\s]*```/gm)).toHaveLength(2)
  for (const { shown } of pieces.slice(1)) expect(shown).toMatch(/^```bash\n/)
})

test('a line of code that looks like a fence is not treated as a fence', () => {
  for (const text of [
    `\`\`\`md\n${'x y z\n        ```\n'.repeat(1_200)}\`\`\`\nend`,
    `${'Text.\n\n        ```\n\n'.repeat(900)}end`,
  ])
    for (const { shown } of split(text)) expect(isBalanced(shown)).toBe(true)
})

test('a list longer than a message is split between its items', () => {
  const text = Array.from({ length: 900 }, (_, index) => `- item ${index}\n  goes on`).join('\n')
  for (const { shown } of split(text)) expect(shown).toMatch(/^- item/)
})

test.each(['`', '~'])('a fence of any number of %s makes no chunk longer than Slack’s limit', (mark) => {
  for (const count of [99, 100, 101, 151, 700, 13_000]) {
    const fence = mark.repeat(count)
    for (const { shown } of split(`${fence}\n${'code '.repeat(5_000)}\n${fence}`))
      expect(shown.length).toBeLessThanOrEqual(12_000)
  }
})

test('the shown text of a growing answer never ends inside a pair of surrogates', () => {
  for (const before of [5_998, 5_999, 6_000]) {
    const text = `${'a'.repeat(before)}😀 and more`
    for (let length = before; length <= text.length; length++) {
      const grown = text.slice(0, length)
      expect(grown.slice(0, sureEnd(grown, 0)).isWellFormed()).toBe(true)
    }
  }
})

const HEADS = [
  '| n | host | note |\n| --- | --- | --- |\n',
  'n | host | note\n:-- | :-: | --:\n',
  '|n|a \\\\| b|c|\n|-|-|-|\n',
  '- item\n\n  | n | host | note |\n  | --- | --- | --- |\n',
]
test.each(HEADS)('each chunk of a split table starts with its head: %j', (opening) => {
  const [indent = '', bar = ''] = /^( *)(\|?)/.exec(opening.split('\n').at(-2) ?? '')?.slice(1) ?? []
  const row = (at: number): string => `${indent}${bar}${at} | host-${at}.example.com | ${'x'.repeat(60)}${bar}\n`
  const rows = Array.from({ length: 600 }, (_, at) => row(at)).join('')
  const pieces = split(`Hosts:\n\n${opening}${rows}\nThe end.`)
  const head = `${opening.split('\n').slice(-3).join('\n')}`
  expect(pieces.length).toBeGreaterThan(3)
  for (const { shown } of pieces.slice(1)) {
    expect(shown.startsWith(head)).toBe(true)
    expect(shown.length).toBeLessThanOrEqual(12_000)
  }
})

test('the head of a table is never separated from its first row', () => {
  for (let length = 11_000; length < 12_000; length += 7) {
    const text = `${'x'.repeat(length)}\n| a | b |\n| --- | --- |\n| 1 | 2 |\n${'| 3 | 4 |\n'.repeat(500)}`
    for (const { shown } of split(text)) expect(shown).not.toMatch(/\| a \| b \|\n(?:\| --- \| --- \|\n)?$/)
  }
})

test('a text that only looks like a table gets no repeated head', () => {
  const text = `${'a | b\n--- | --- | ---\n'}${'c | d\n'.repeat(5_000)}`
  for (const { shown, from } of split(text).slice(1)) expect(text.slice(from).startsWith(shown.slice(0, 50))).toBe(true)
})
