/* Evidence, house: Citations, links and configuration tables agree with the tree. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

/**
 * References in comments, test names and pages must exist in this tree, so that every reader can look them up. There
 * are four forms: `promises L4` (docs/design/promises.md), `session-protocol, Claim` (docs/design/session-protocol.md),
 * `record 13` (docs/design/decisions), and a path. A heading in quotes may follow a path.
 * One path outside the tree is allowed: `../shared/data`, the recorded conversations that suites read if they exist.
 */
const ROOT = resolve(import.meta.dirname, '../..')
const FOLDERS = ['functions', 'page', 'build', 'lib', 'bin', 'lint', 'test', 'audit', 'bench', 'docs']
const DATA = resolve(ROOT, '../shared/data')
const SELF = 'test/conventions/citations.test.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name))),
)
  .concat(readdirSync(ROOT).filter((name) => /\.(?:md|json|ts|yaml)$/.test(name)))
  .filter((path) => /\.(?:md|tsx?|mjs|sh|json|yaml)$/.test(path) && path !== 'package-lock.json')
const pages = files.filter((path) => path.endsWith('.md'))

const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found]) => found ?? '')
const PROMISES = new Set(all(read('docs/design/promises.md'), /^\*\*([A-Z]\d+)\. /gm))
const OPERATIONS = new Set(all(read('docs/design/session-protocol.md'), /^(?:\| \*\*|## )([A-Z][\w-]*)/gm))
const RECORD_FILES = readdirSync(join(ROOT, 'docs/design/decisions')).toSorted()
const RECORDS = new Set(RECORD_FILES.map((name) => String(Number(name.slice(0, 4)))))

/** The text of a page without code. */
const prose = (page: string): string => page.replaceAll(/^```[^]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, 'code')

/** Returns the anchor that GitHub generates for a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

const headingsOf = (path: string): string[] => all(read(path).replaceAll(/^```[^]*?^```/gm, ''), /^#+ (.+)$/gm)

/** Lists every promise that a citation names: two for `L4, L6`, and three for `R1–R3`. */
function promisesOf(citation: string): string[] {
  return citation.split(', ').flatMap((part) => {
    const [first = '', last] = part.split('–')
    if (last === undefined) return [first]
    const [from, to] = [Number(first.slice(1)), Number(last.slice(1))]
    return Array.from({ length: to - from + 1 }, (_, index) => `${first[0]}${from + index}`)
  })
}

function unresolved(text: string): string[] {
  const promises = all(text, /\bpromises ([A-Z]\d+(?:(?:, |–)[A-Z]\d+)*)/g).flatMap(promisesOf)
  const headed = [
    ...text.matchAll(/\b((?:docs\/(?:[\w-]+\/)*)?[\w-]+\.md), "([^"]+)"|"([^"]+)" in (docs\/(?:[\w-]+\/)*[\w-]+\.md)/g),
  ]
  return [
    ...promises.filter((name) => !PROMISES.has(name)).map((name) => `promises ${name}`),
    ...all(text, /\bsession-protocol, ([A-Z][\w-]*)/g).filter((name) => !OPERATIONS.has(name)),
    ...all(text, /\brecord (\d+)\b/g)
      .filter((name) => !RECORDS.has(name))
      .map((name) => `record ${name}`),
    ...all(text, /\b(docs\/[\w/-]+\.md|(?:README|CONTRIBUTING|AGENTS)\.md)\b/g).filter(
      (path) => !existsSync(join(ROOT, path)),
    ),
    ...headed.flatMap(([citation, path = '', heading = '', before = '', behind = '']) => {
      const page = path === '' ? behind : path
      return existsSync(join(ROOT, page)) && headingsOf(page).includes(heading === '' ? before : heading)
        ? []
        : [citation]
    }),
  ]
}

/** Finds citations that have none of the four forms, and citations of pages outside this tree. */
function unclear(text: string): string[] {
  return [
    ...all(text, /(\bspec,? (?:§|[A-Z]\d)|§ ?\d|\((?:[LRTOH]\d{1,2})(?:, [LRTOH]\d{1,2})*\))/g),
    ...all(
      text,
      /\b(session-protocol(?!, [A-Z]|\.md)|(?:spec|(?<!docs\/design\/)architecture|wire-formats|channels|clients|style)\.md)/g,
    ),
  ]
}

/** Finds paths outside of the tree that a file reads, imports or names. */
function outside(path: string, text: string): string[] {
  const from = dirname(join(ROOT, path))
  const named = all(text, /(?:from |import\(|import\.meta\.dirname, |new URL\()'(\.\.?\/[^']*)'/g)
  const escaping = named.filter((to) => {
    const target = resolve(from, to)
    return relative(ROOT, target).startsWith('..') && !(path.startsWith('test/') && target === DATA)
  })
  const shared = all(text, /(?:\.\.\/)+(shared\/?[\w-]*)/g).filter(
    (to) => to !== 'shared/data' || !path.startsWith('test/'),
  )
  return [...escaping, ...shared]
}

/** Finds relative links of a page to a missing file or a missing heading. */
function broken(path: string, text: string): string[] {
  const links = all(prose(text), /\]\(([^)\s]+)\)/g).filter((link) => !/^[a-z]+:/.test(link))
  return links.filter((link) => {
    const [to = '', anchor] = link.split('#')
    const target = to === '' ? path : relative(ROOT, resolve(ROOT, path, '..', to))
    if (target.startsWith('..') || !existsSync(join(ROOT, target))) return true
    return anchor !== undefined && !headingsOf(target).map(anchorOf).includes(anchor)
  })
}

describe('in every file of the tree', () => {
  const others = files.filter((path) => path !== SELF)
  const found = (check: (path: string, text: string) => string[]): string[] =>
    others.flatMap((path) => check(path, read(path)).map((problem) => `${path}: ${problem}`))

  test('citations refer to existing promises, records and pages', () => {
    expect(found((_, text) => unresolved(text))).toEqual([])
  })

  test('citations have one of the four forms', () => {
    expect(found((path, text) => (path.endsWith('.md') ? [] : unclear(text)))).toEqual([])
  })

  test('no file refers to a path outside the tree, except the recorded conversations', () => {
    expect(found(outside)).toEqual([])
  })
})

test('each decision record has a unique number, and its title repeats the number', () => {
  const numbers = RECORD_FILES.map((name) => name.slice(0, 4))
  expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([])
  const titles = RECORD_FILES.map((name) => read(`docs/design/decisions/${name}`).split('.')[0])
  expect(titles).toEqual(numbers.map((number) => `# ${Number(number)}`))
})

test('every relative link of every page leads to a file and a heading', () => {
  expect(pages.length).toBeGreaterThan(20)
  expect(pages.flatMap((path) => broken(path, read(path)).map((link) => `${path}: ${link}`))).toEqual([])
})

test('the checks find a planted fault', () => {
  expect(PROMISES.size).toBeGreaterThan(30)
  expect(OPERATIONS.size).toBeGreaterThan(20)
  expect(
    unresolved('promises L4, R1–R3 and session-protocol, Claim and record 2 and docs/assurance/guards.md'),
  ).toEqual([])
  expect(unresolved('promises L4, L77')).toEqual(['promises L77'])
  expect(unresolved('promises R8–R14')).toEqual(['promises R12', 'promises R13', 'promises R14'])
  expect(unresolved('session-protocol, Nap')).toEqual(['Nap'])
  expect(unresolved('record 99, docs/none.md')).toEqual(['record 99', 'docs/none.md'])
  expect(unresolved('docs/operations/alarms.md, "Alarms"')).toEqual([])
  expect(unresolved('docs/operations/alarms.md, "Alarm clocks"')).toEqual(['docs/operations/alarms.md, "Alarm clocks"'])
  expect(unclear('as it must (R6), see spec §3 and session-protocol')).toEqual(['(R6)', 'spec §', 'session-protocol'])
  expect(outside('functions/log/replay.ts', `from '../../../shared/code.ts'`)).toEqual([
    '../../../shared/code.ts',
    'shared/code',
  ])
  expect(outside('test/search-corpus.ts', `join(import.meta.dirname, '../../shared/data')`)).toEqual([])
  expect(outside('functions/search.ts', `join(import.meta.dirname, '../../shared/data')`)).not.toEqual([])
  expect(broken('docs/assurance/guards.md', '[a](none.md) [b](evidence.md#nowhere) [c](../README.md)')).toEqual([
    'none.md',
    'evidence.md#nowhere',
  ])
})
