import { expect, test } from 'vitest'
import { createNativeImport } from '../../../functions/log/import/native.ts'
import { readLangGraph } from '../../../functions/log/session-files/langgraph.ts'

/** A message in the format of LangChain's older serializer. */
const message = (type: string, content: string, more: object = {}) => ({
  ...{ lc: 1, type: 'constructor', id: ['langchain', type] },
  kwargs: { type, content, ...more },
})
const state = (...messages: readonly object[]) => messages
const call = (id: string, command: string) => ({ id, name: 'run', args: { command } })

/** Lists the messages that are read from a thread whose checkpoints have these states. */
function saidIn(...states: readonly (readonly object[])[]): string[] {
  const rows = states.map((messages, place) => ({
    line: place + 1,
    type: 'json',
    checkpoint: Buffer.from(JSON.stringify({ ts: '2026-01-01T00:00:00Z', channel_values: { messages } })),
  }))
  const { messages, faults } = readLangGraph(rows)
  expect(faults).toEqual([])
  const reader = createNativeImport()
  const closed = [...messages.flatMap(({ value }) => reader.take(value, 'message')), ...reader.end()]
  return closed.map((one) => {
    const texts = one.parts.flatMap((part) => ('text' in part ? part.text.split(':')[0] : []))
    const calls = one.role === 'assistant' ? one.toolCalls.map(({ arguments: text }) => text) : []
    return [one.role, ...texts, ...calls].join(' ')
  })
}

const asked = message('human', 'list it', { id: 'h' })
const planned = message('ai', 'I look', { id: 'a', tool_calls: [call('c', 'rm x'), call('d', 'df')] })

test('calls that a person changed before execution are kept in both versions; the first counts as interrupted', () => {
  const changed = message('ai', 'I look', { id: 'a', tool_calls: [call('c', 'ls'), call('d', 'df')] })
  const results = [
    message('tool', 'one', { id: 't', tool_call_id: 'c' }),
    message('tool', 'two', { tool_call_id: 'd' }),
  ]
  expect(saidIn(state(asked, planned), state(asked, changed), state(asked, changed, ...results))).toEqual([
    ...['user list it', 'assistant I look {"command":"rm x"} {"command":"df"}', 'tool interrupted', 'tool interrupted'],
    ...['assistant I look {"command":"ls"} {"command":"df"}', 'tool one', 'tool two'],
  ])
})

test('a text or a result that was changed later is kept in both versions', () => {
  const [one, two] = [
    message('tool', 'one', { id: 't', tool_call_id: 'c' }),
    message('tool', 'two', { tool_call_id: 'd' }),
  ]
  const other = message('ai', 'I looked', { id: 'a', tool_calls: [call('c', 'rm x'), call('d', 'df')] })
  const cleared = message('tool', 'cleared', { id: 't', tool_call_id: 'c' })
  const before = [state(asked, planned), state(asked, planned, one, two)]
  const was = ['user list it', 'assistant I look {"command":"rm x"} {"command":"df"}', 'tool one', 'tool two']
  expect(saidIn(...before, state(asked, other, one, two))).toEqual([...was, 'assistant I looked'])
  const round = ['assistant {"command":"rm x"}', 'tool cleared']
  expect(saidIn(...before, state(asked, planned, cleared, two))).toEqual([...was, ...round])
})

test('equal messages without ids are separate messages if one state contains all of them', () => {
  const [yes, ok] = [message('human', 'yes'), message('ai', 'ok')]
  const states = [state(yes), state(yes, ok), state(yes, ok, yes), state(yes, ok, yes, ok)]
  expect(saidIn(...states)).toEqual(['user yes', 'assistant ok', 'user yes', 'assistant ok'])
})
