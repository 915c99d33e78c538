import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { LISTS, missingIn } from '../../audit/mutants/mutants.ts'

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
