import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FIELD_CASES, readFieldName } from '../../audit/field/field-names.ts'
import { casesWithoutTest, fieldTable, type FieldOutcome } from '../../audit/field/field-table.ts'

const read = (...names: readonly string[]): unknown => {
  const found = readFieldName(names)
  return found && [found.case, found.variant, found.wires.join(), found.engines.join()]
}

test.each([
  [['field/01/empty-name · chat · sqlite: the session goes on'], ['01', 'empty-name', 'chat', 'sqlite']],
  [['field/01/empty-name chat dynamodb'], ['01', 'empty-name', 'chat', 'dynamodb']],
  [['field/01/empty-name (Anthropic, SQLite)'], ['01', 'empty-name', 'messages', 'sqlite']],
  [
    ['Bedrock', 'DynamoDB', 'field/24/other: reasoning is omitted'],
    ['24', 'other', 'bedrock', 'dynamodb'],
  ],
  [
    ['field/24/other', 'openai-compatible', 'reasoning is omitted'],
    ['24', 'other', 'chat', ''],
  ],
  [['field/context-words/xai · chat, responses'], ['context-words', 'xai', 'chat,responses', '']],
  [['field/16/pair: all messages of a chat are whole'], ['16', 'pair', '', '']],
  [['field/07/inputs: a text is an input'], ['07', 'inputs', '', '']],
  [['field/12: an alert is read'], ['12', '', '', '']],
  [
    ['on messages', 'field/too-long/xai: it is understood'],
    ['too-long', 'xai', 'messages', ''],
  ],
  [['a test of the field'], undefined],
] as const)('the name of a field test is parsed: %j', (names, expected) => expect(read(...names)).toEqual(expected))

const outcome = (name: string, state: FieldOutcome['state'] = 'passed'): FieldOutcome => {
  const found = readFieldName([name])
  if (found === undefined) throw new Error(`${name} is no field test`)
  return { ...found, name, file: 'test/a.test.ts', state, ...(state === 'failed' ? { error: 'expected 1' } : {}) }
}

test('the table has a row for each case and wire format and a column for each engine', () => {
  const table = fieldTable(
    [
      outcome('field/19/orders · chat · sqlite'),
      outcome('field/19/orders · chat · dynamodb', 'failed'),
      outcome('field/19/totals · chat · sqlite'),
      outcome('field/19/orders · bedrock · sqlite', 'skipped'),
      outcome('field/07/inputs'),
    ],
    ['07', '14', '19'],
  )
  expect(table.split('\n')).toEqual([
    'case                                   wire     sqlite     dynamodb  -',
    '07 Claude Code: words typed meanwhile  -                             1 ok',
    '19 numbers that JavaScript rounds      chat     2 ok       1 FAILED',
    '                                       bedrock  1 skipped',
    '',
    'without a test: 14',
    '',
    'FAILED field/19/orders · chat · dynamodb',
    '  test/a.test.ts',
    '  expected 1',
    '',
    '5 tests of 3 variants: 1 failed, 1 skipped',
  ])
})

test('an expected case counts as missing if it has no test, or if its tests were skipped', () => {
  const outcomes = [outcome('field/07/inputs'), outcome('field/19/orders', 'skipped'), outcome('field/14/a', 'failed')]
  expect(casesWithoutTest(outcomes, ['07', '14', '19', '21'])).toEqual(['19', '21'])
})

test('every field test has a listed case, and every listed case has a field test with two variants', () => {
  const folder = join(import.meta.dirname, '..')
  const files = globSync('**/*.ts', { cwd: folder }).filter((file) => file !== 'conventions/field-table.test.ts')
  const names = files.flatMap((file) => [
    ...readFileSync(join(folder, file), 'utf8').matchAll(/['"`]field\/([^/'"`]+)\/([^'"`:· ]+)/g),
  ])
  const variants = new Map<string, Set<string>>()
  for (const [, name = '', variant = ''] of names) variants.set(name, (variants.get(name) ?? new Set()).add(variant))
  expect([...variants.keys()].toSorted()).toEqual([...FIELD_CASES.keys()].toSorted())
  // A variant with a placeholder counts as several variants, because each row of its table is a test.
  const single = [...variants].filter(([, of]) => of.size < 2 && ![...of].some((one) => /[%$]/.test(one)))
  expect(single).toEqual([])
})
