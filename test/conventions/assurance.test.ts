import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { claimsIn, evidencePage, readEvidence } from '../../audit/assurance/evidence.ts'
import { stateOf } from '../../audit/assurance/known-failures.ts'
import { PARTS } from '../../audit/assurance/parts.ts'
import { updatePage } from '../../audit/assurance/results.ts'
import { DELIVERY_GUARDS } from '../../audit/exploration/delivery-guards.ts'
import { GUARDS } from '../../audit/exploration/guards.ts'

const read = (page: string) => readFileSync(join(resolve(import.meta.dirname, '../..'), 'docs/assurance', page), 'utf8')

const known = (isAsBefore: boolean) => ({ name: 'known', isKnown: true, isAsBefore })
const control = (isAsBefore: boolean) => ({ name: 'control', isKnown: false, isAsBefore })

test.each([
  [[known(true), control(true)], [], 'still fails'],
  [[known(false), control(true)], [], 'holds now'],
  [[known(true), known(false)], [], 'holds in part'],
  [[known(true), control(false)], [], 'its control fails'],
  [[], ['does not load'], 'its control fails'],
  [[control(true)], [], 'needs an engine'],
] as const)('the state of a known failure is read from its tests: %#', (outcomes, errors, state) => {
  expect(stateOf('a', outcomes, errors, false).state).toBe(state)
})

test('an update of the results page keeps the rows of parts that did not run', () => {
  const [first, second] = PARTS
  if (first === undefined || second === undefined) throw new Error('no parts')
  const result = { outcome: 'all | is well', date: '2026-01-02', commit: 'abc1234+', minutes: 3 }
  const failures = [{ name: 'a-b', state: 'still fails', changed: [] } as const]
  const before = updatePage('', PARTS, [{ part: first.name, ...result }], failures)
  const after = updatePage(before, PARTS, [{ part: second.name, ...result, commit: 'def5678' }], undefined)
  expect(after).toContain(`| ${first.name} | ${first.question} | all / is well | 2026-01-02 | abc1234+ | 3 |\n`)
  expect(after).toContain(`| ${second.name} | ${second.question} | all / is well | 2026-01-02 | def5678 | 3 |\n`)
  expect(after).toContain('| a b | still fails |\n')
  expect(updatePage(after, PARTS, [], undefined)).toBe(after)
})

test('claims are read from block comments of any length and from script comments', () => {
  const text =
    '/* Evidence, api: It\n * holds. */\n/* Evidence, page: It is shown. */\nconst a = 1\n# Evidence, cloud: It runs.\n'
  expect(claimsIn('a', text).map(({ area, claim }) => [area, claim])).toEqual([
    ['api', 'It holds.'],
    ['page', 'It is shown.'],
    ['cloud', 'It runs.'],
  ])
  expect(() => evidencePage([{ area: 'apo', claim: 'It holds.', path: 'a' }])).toThrow(
    'a has the area apo; the areas are',
  )
})

test('the page of evidence lists the claims of the tests; `npm run evidence` updates it', () => {
  expect(read('evidence.md')).toBe(readEvidence())
})

test('the page of guards has a row for each guard', () => {
  const rows = [...read('guards.md').matchAll(/^\| ((?!without|fault)[^|]+?) \| (?:\d+:\d+|none, )/gm)].map(
    ([, name]) => name,
  )
  const names = [...GUARDS, ...DELIVERY_GUARDS].map(({ name }) => name.replace('delivery, ', ''))
  expect(rows).toEqual(names)
})
