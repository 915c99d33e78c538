import { readFileSync } from 'node:fs'
import { parseSync, Visitor } from 'oxc-parser'

/** A sentence of a comment, a test name or a page. `line` counts from 1. */
export interface Sentence {
  path: string
  line: number
  kind: 'comment' | 'test name' | 'prose' | 'cell' | 'paragraph'
  text: string
  /** Names of the suites around a test, outermost first. */
  suites?: readonly string[]
  /** Whether the name belongs to a suite. */
  isSuite?: boolean
}

const TEST_FUNCTIONS = new Set(['test', 'it', 'describe'])
const MODIFIERS = new Set(['each', 'for', 'only', 'skip', 'skipIf', 'runIf', 'concurrent', 'sequential', 'fails'])

/** Replaces each code span, address and quotation by one word, because their text cannot be changed here. */
const plain = (text: string): string =>
  text
    .replaceAll(/`[^`]*`/g, '`code`')
    .replaceAll(/\{@link ([^}]*)\}/g, '`code`')
    .replaceAll(/(!?)\[([^\]]*)\]\([^)]*\)/g, '$2')
    .replaceAll(/https?:\/\/\S+/g, 'address')
    .replaceAll(/"[^"]*"|“[^”]*”/g, '"quotation"')

/** Sentences of a text without headings and code. */
export const sentencesOf = (text: string): string[] =>
  plain(text)
    .replaceAll(/\s+/g, ' ')
    .split(/(?<=[.?!][)*_"]*)\s+(?=[\p{Lu}`"(*[_\d])/u)
    .map((sentence) => sentence.replace(/^[*_\s]+/, '').trim())
    .filter((sentence) => sentence !== '')

/** Joins line comments on consecutive lines to one comment. A tag of a doc comment begins a new paragraph. */
function commentsOf(source: string, comments: { type: string; value: string; start: number; end: number }[]) {
  const joined: { start: number; end: number; text: string }[] = []
  for (const { type, value, start, end } of comments) {
    const text = type === 'Line' ? value.trim() : value.replaceAll(/^\s*\*? ?/gm, '').trim()
    const last = joined.at(-1)
    const alone = /^[ \t]*$/.test(source.slice(source.lastIndexOf('\n', start - 1) + 1, start))
    if (type === 'Line' && alone && last !== undefined && /^\n[ \t]*$/.test(source.slice(last.end, start))) {
      last.text += `\n${text}`
      last.end = end
    } else joined.push({ start, end, text })
  }
  return joined.filter(({ text }) => !/^(?:oxlint|eslint|@ts-|v8 |#|@vitest)/.test(text))
}

const lineOf = (source: string, offset: number): number => source.slice(0, offset).split('\n').length

/** Paragraphs of a comment, without its lists' bullets and indented code. */
const paragraphsOf = (text: string): string[] =>
  text
    .replaceAll(/^```[^]*?^```/gm, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=@)/)
    .map((paragraph) => paragraph.replace(/^\s*(?:[-*]|\d+\.) /, '').replace(/^@\w+\s+(?:\w+ - )?/, ''))

type Named = { type: string; name?: string; object?: Named; property?: Named; callee?: Named; tag?: Named }

/**
 * Returns the name at the start of a called function: `test` for `test.each([…])('…')`, and `describe` for
 * `describe.skipIf(x)('…')`. Returns undefined for a method of another object, such as a harness that a test names `it`.
 */
function functionName(node: Named): string | undefined {
  if (node.type === 'Identifier') return node.name
  if (node.property !== undefined && !MODIFIERS.has(node.property.name ?? '')) return undefined
  const inner = node.object ?? node.callee ?? node.tag
  return inner === undefined ? undefined : functionName(inner)
}

/** Every sentence of comments and test names of a TypeScript file. */
export function sentencesOfCode(path: string, source = readFileSync(path, 'utf8')): Sentence[] {
  const { program, comments } = parseSync(path, source)
  const found: Sentence[] = commentsOf(source, comments).flatMap(({ start, text }) =>
    paragraphsOf(text).flatMap((paragraph) =>
      sentencesOf(paragraph).map((sentence) => ({
        path,
        line: lineOf(source, start),
        kind: 'comment' as const,
        text: sentence,
      })),
    ),
  )
  if (/\.(?:test|suite|contract)\.tsx?$|test\/contracts\//.test(path)) {
    const suites: { name: string; end: number }[] = []
    new Visitor({
      CallExpression({ callee, arguments: [name], start, end }) {
        const called = functionName(callee as Named) ?? ''
        if (!TEST_FUNCTIONS.has(called)) return
        while ((suites.at(-1)?.end ?? Infinity) < start) suites.pop()
        const text =
          name?.type === 'Literal' && typeof name.value === 'string'
            ? name.value
            : name?.type === 'TemplateLiteral'
              ? name.quasis.map(({ value }) => value.cooked ?? '').join('`code`')
              : undefined
        if (text === undefined) return
        const isSuite = called === 'describe'
        const around = { suites: suites.map((suite) => suite.name), isSuite }
        found.push({ path, line: lineOf(source, start), kind: 'test name', text: plain(text), ...around })
        if (isSuite) suites.push({ name: plain(text), end })
      },
    }).visit(program)
  }
  return found
}

/** Every sentence, table cell and paragraph of a page, without headings and code. */
export function sentencesOfPage(path: string, source = readFileSync(path, 'utf8')): Sentence[] {
  const found: Sentence[] = []
  let paragraph: string[] = []
  let fenced = false
  const end = (line: number) => {
    const text = paragraph.join(' ')
    const at = { path, line: line - paragraph.length }
    if (text !== '') {
      found.push({ ...at, kind: 'paragraph', text: plain(text) })
      for (const sentence of sentencesOf(text)) found.push({ ...at, kind: 'prose', text: sentence })
    }
    paragraph = []
  }
  for (const [index, line] of [...source.split('\n'), ''].entries()) {
    if (/^\s*```/.test(line)) {
      end(index + 1)
      fenced = !fenced
    } else if (fenced) continue
    else if (/^\s*\|/.test(line)) {
      end(index + 1)
      const cells = line.replaceAll('\\|', ' ').split('|').slice(1, -1)
      for (const cell of cells.filter((text) => !/^[\s:-]*$/.test(text)))
        found.push({ path, line: index + 1, kind: 'cell', text: plain(cell.trim()) })
    } else if (/^\s*$|^#|^\s*<|^---$/.test(line)) end(index + 1)
    else {
      if (/^\s*(?:[-*+]|\d+\.|>)\s/.test(line)) end(index + 1)
      paragraph.push(line.replace(/^\s*(?:[-*+]|\d+\.|>)\s+/, '').trim())
    }
  }
  return found
}
