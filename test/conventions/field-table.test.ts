import { expect, test } from 'vitest'
import { readFieldName } from '../../audit/field/field-names.ts'
import { fieldTable, type FieldOutcome } from '../../audit/field/field-table.ts'

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
  [['a test of the field'], undefined],
] as const)('the name of a field test is read: %j', (names, expected) => expect(read(...names)).toEqual(expected))

const outcome = (name: string, state: FieldOutcome['state'] = 'passed'): FieldOutcome => {
  const found = readFieldName([name])
  if (found === undefined) throw new Error(`${name} is no field test`)
  return { ...found, name, file: 'test/a.test.ts', state, ...(state === 'failed' ? { error: 'expected 1' } : {}) }
}

test('the table has a row for each case and wire and a column for each engine', () => {
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
