import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { LISTS, missingIn, suitesFor } from '../../audit/mutants/mutants.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const ALL = LISTS.flatMap(({ mutants }) => mutants)

test('the text that a mutant changes occurs exactly once in the tree', () => {
  expect(ALL.flatMap((mutant) => missingIn(ROOT, mutant) ?? [])).toEqual([])
})

test('each mutant has a unique name and changes the text', () => {
  expect(new Set(ALL.map(({ name }) => name)).size).toBe(ALL.length)
  expect(ALL.filter(({ from, to }) => from === to)).toEqual([])
})

test('each recorded answer refers to a listed mutant', () => {
  const answers = readFileSync(join(ROOT, 'audit/mutants/answers.txt'), 'utf8').trim().split('\n')
  const names = new Set(ALL.map(({ name }) => name))
  expect(answers.map((line) => line.split(' | ')[0] ?? '').filter((name) => !names.has(name))).toEqual([])
})

test('the suites of mutants name existing paths, and exclude only existing test names', () => {
  const files = globSync('{test,audit}/**/*.test.ts', { cwd: ROOT })
  const words = new Set(
    LISTS.flatMap(({ mutants, suites }) => mutants.flatMap((mutant) => suitesFor(mutant, suites))).flatMap(
      ({ command }) => command,
    ),
  )
  const paths = [...words].map((word) => word.replace('--exclude=', '')).filter((word) => word.startsWith('test/'))
  expect(paths.filter((path) => !files.some((file) => file.startsWith(path)))).toEqual([])
  const excluded = [...words].flatMap((word) => /^--testNamePattern=\^\(\?!\.\*(.+)\)$/.exec(word)?.[1] ?? [])
  const named = files.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n')
  expect(excluded).not.toEqual([])
  expect(excluded.filter((name) => !named.includes(name))).toEqual([])
})
