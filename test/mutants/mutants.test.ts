import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { LISTS, mutated } from './mutants.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const mutants = LISTS.flatMap((list) => list.mutants)

test('what each mutant changes stands in the program, once', () => {
  const names = new Set(mutants.map(({ name }) => name))
  expect(names.size).toBe(mutants.length)
  const missing = mutants.filter((mutant) => {
    try {
      return mutated(ROOT, mutant) === ''
    } catch {
      return true
    }
  })
  expect(missing.map(({ name }) => name)).toEqual([])
})
