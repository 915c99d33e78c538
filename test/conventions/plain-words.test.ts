import { readdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { faultsOf } from './plain-words/rules.ts'
import { sentencesOf, sentencesOfCode, sentencesOfPage } from './plain-words/sentences.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const FOLDERS = ['functions', 'page', 'build', 'lib', 'bin', 'lint', 'scripts', 'test', 'audit', 'bench', 'docs']

/** Paths that are not checked, each with its reason. */
const EXCEPTIONS: readonly (readonly [path: string, reason: string])[] = [
  ['test/conventions/plain-words/', 'the rules quote what they forbid'],
  ['test/fixtures/', 'recorded data'],
]

const paths = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:tsx?|mjs|md)$/.test(entry.name) && !entry.name.endsWith('.d.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name))),
)
  .concat(readdirSync(ROOT).filter((name) => /\.(?:md|ts)$/.test(name)))
  .filter((path) => !path.includes('node_modules') && EXCEPTIONS.every(([exception]) => !path.startsWith(exception)))

const faultsIn = (path: string): string[] =>
  (path.endsWith('.md') ? sentencesOfPage(join(ROOT, path)) : sentencesOfCode(join(ROOT, path))).flatMap((sentence) =>
    faultsOf(sentence).map((fault) => `${path}:${sentence.line} ${fault} — ${sentence.text.slice(0, 200)}`),
  )

describe('plain words', () => {
  test('have at most 20 exceptions, and each exception exists', () => {
    expect(EXCEPTIONS.length).toBeLessThanOrEqual(20)
    for (const [exception] of EXCEPTIONS)
      expect(readdirSync(join(ROOT, exception, '..'))).toContain(exception.replace(/\/$/, '').split('/').at(-1))
  })

  test.each([
    ['What a call came to.', 2],
    ['Whoever takes the run over reads the log.', 2],
    ['It is told with its first step.', 1],
    ['Stores the round and returns its rows.', 0],
    ['What is wrong?', 0],
  ])('the text %j has %i faults', (text, count) => {
    expect(faultsOf({ path: '', line: 1, kind: 'comment', text })).toHaveLength(count)
  })

  test('quotations and code are not checked', () => {
    const [sentence = ''] = sentencesOf('The title is "What whoever told", and `whoever` is a field.')
    expect(faultsOf({ path: '', line: 1, kind: 'prose', text: sentence })).toEqual([])
  })

  test('are used in comments, test names and pages', () => {
    expect(paths.flatMap(faultsIn)).toEqual([])
  })
})
