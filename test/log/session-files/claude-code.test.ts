/* Evidence, imports: Some calls are made while results of earlier calls still arrive. All these calls keep their results. */
import { expect, test } from 'vitest'
import { readClaudeCode } from '../../../functions/log/session-files/claude-code.ts'

let second = 0
const record = (type: 'user' | 'assistant', content: unknown, more: object = {}) => {
  const timestamp = new Date(Date.UTC(2025, 5, 1, 10, 0, ++second)).toISOString()
  return { type, uuid: `u${second}`, timestamp, message: { role: type, content }, ...more }
}
const call = (id: string, name: string): object => ({ type: 'tool_use', id, name, input: {} })
const returned = (id: string): object[] => [{ type: 'tool_result', tool_use_id: id, content: `result of ${id}` }]
const aside = { isSidechain: true }
const readAll = (records: readonly object[]) =>
  readClaudeCode(
    records.map((value, place) => ({ line: place + 1, value })),
    { agentLines: () => undefined, output: () => undefined },
    2,
  ).messages.map(
    ({ line, value }) => `${line} ${value['role'] as string} ${(value['parent_tool_call_id'] ?? '') as string}`,
  )

test('a record without content does not use up its id: a later complete copy is imported', () => {
  const said = record('user', 'find it')
  const queued = { type: 'attachment', uuid: 'q', attachment: { type: 'queued_command', prompt: 'and this' } }
  const damaged = [
    { ...said, message: null },
    { ...said, message: { role: 'user' } },
  ]
  const lost = { ...queued, attachment: { ...queued.attachment, prompt: undefined } }
  expect(readAll([...damaged, said, said, lost, queued, queued])).toEqual(['3 user ', '6 user '])
})

const started = [
  record('user', 'find it'),
  record('assistant', [call('t1', 'Task')]),
  record('user', 'look for it', aside),
  record('assistant', [call('s1', 'Grep')], aside),
  record('user', returned('s1'), aside),
]

test("a sub-agent's messages in the same file follow the result of its call", () => {
  const whole = [...started, record('user', returned('t1')), record('assistant', [{ type: 'text', text: 'Found.' }])]
  expect(readAll(whole)).toEqual([
    ...['1 user ', '2 assistant ', '6 tool '],
    ...['3 user t1', '4 assistant t1', '5 tool t1', '7 assistant '],
  ])
})

test("a sub-agent's messages follow its call and precede the next message if the call has no result", () => {
  const rest = ['3 tool ', '3 user t1', '4 assistant t1', '5 tool t1']
  expect(readAll(started)).toEqual(['1 user ', '2 assistant ', ...rest])
  expect(readAll([...started, record('user', 'never mind')])).toEqual(['1 user ', '2 assistant ', ...rest, '6 user '])
})

test('a result has the timestamps of its call and of its own record', () => {
  const [asked, answered] = [record('assistant', [call('t1', 'Bash')]), record('user', returned('t1'))]
  const { messages } = readClaudeCode(
    [record('user', 'list it'), asked, answered].map((value, line) => ({ line, value })),
    { agentLines: () => undefined, output: () => undefined },
    2,
  )
  expect(messages[2]?.value).toMatchObject({ created_at: asked.timestamp, completed_at: answered.timestamp })
})

test('calls made while other results arrive belong to one completion', () => {
  const id = (record_: { readonly message: object }, name: string) => ({
    ...record_,
    message: { ...record_.message, id: name },
  })
  const made = (name: string, ...calls: string[]) =>
    calls.map((one) => id(record('assistant', [call(one, 'Bash')]), name))
  const result = (one: string) => record('user', returned(one))
  const lines = [
    record('user', 'do all of it'),
    ...made('m1', 'a', 'b'),
    result('a'),
    ...made('m1', 'c'),
    ...['c', 'b'].map(result),
    ...made('m1', 'd'),
    result('d'),
  ]
  // A line after the last result starts a new completion: the earlier completion may already have been imported.
  expect(readAll(lines)).toEqual([
    '1 user ',
    '5 assistant ',
    '4 tool ',
    '6 tool ',
    '7 tool ',
    '8 assistant ',
    '9 tool ',
  ])
})
