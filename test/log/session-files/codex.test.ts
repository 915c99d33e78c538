import { expect, test } from 'vitest'
import { readCodex } from '../../../functions/log/session-files/codex.ts'

const read = (records: readonly object[]) =>
  readCodex(
    records.map((value, place) => ({ line: place + 1, value })),
    2,
  ).messages.map(({ value }) => value)
const line = (type: string, payload: object) => ({ timestamp: '2026-08-02T09:00:01.000Z', type, payload })
const called = (id: string): object =>
  line('response_item', { type: 'function_call', name: 'exec_command', arguments: '{"cmd":"make"}', call_id: id })
const ended = (id: string, code: number, output: string): object =>
  line('event_msg', { type: 'exec_command_end', call_id: id, exit_code: code, aggregated_output: output })
const returned = (id: string, output: string): object =>
  line('response_item', { type: 'function_call_output', call_id: id, output })

test('the exit code and complete output of a command are read from its screen event', () => {
  const messages = read([
    ...[called('c1'), ended('c1', 2, 'line 1\nline 2\nline 3\nmake: *** failed'), returned('c1', 'line 1\n…')],
    ...[called('c2'), ended('c2', 0, 'ok'), returned('c2', 'Process exited with code 0\nOutput:\nok')],
    ...[called('c3'), returned('c3', 'no end was told')],
  ])
  const results = messages.filter(({ role }) => role === 'tool').map(({ status, parts }) => [status, parts])
  expect(results).toEqual([
    ['error', [{ type: 'text', text: 'line 1\nline 2\nline 3\nmake: *** failed' }]],
    ['completed', [{ type: 'text', text: 'Process exited with code 0\nOutput:\nok' }]],
    ['completed', [{ type: 'text', text: 'no end was told' }]],
  ])
})

test('an item without a timestamp gets the timestamp of the last line that has one', () => {
  const messages = read([
    { id: 'a', timestamp: '2025-05-01T09:00:00.000Z', instructions: null },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'rename it' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Renamed.' }] },
  ])
  expect(messages.map(({ created_at: time }) => time)).toEqual(['2025-05-01T09:00:00.000Z', '2025-05-01T09:00:00.000Z'])
})

test('a message may be a plain text', () => {
  const messages = read([line('response_item', { type: 'message', role: 'user', content: 'hello' })])
  expect(messages).toMatchObject([{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }])
})

test('an output with deeply nested JSON is read as text', () => {
  const depth = 20_000
  // The character U+E000 makes the parser of exact numbers use recursion.
  const output = `{"output":"\\ue000","more":[1.0,${'['.repeat(depth)}${']'.repeat(depth)}]}`
  const messages = read([called('c1'), returned('c1', output)])
  expect(messages.find(({ role }) => role === 'tool')?.['parts']).toEqual([{ type: 'text', text: output }])
})
