import { expect, test } from 'vitest'
import { readAiSdk } from '../../../functions/log/session-files/ai-sdk.ts'
import { readCodex } from '../../../functions/log/session-files/codex.ts'
import { damagedOfClaudeCode } from '../../../functions/log/session-files/damaged-messages.ts'
import type { Fault, FileLine } from '../../../functions/log/session-files/transcript.ts'

const linesOf = (records: readonly object[]): FileLine[] => records.map((value, place) => ({ line: place + 1, value }))
const reported = (faults: readonly Fault[]) => faults.map(({ line, reason }) => `${line}: ${reason}`)

test('lines of Claude Code without required fields are reported, except bookkeeping lines', () => {
  const said = (message?: object) => ({ type: 'user', uuid: 'u', message })
  const records = [
    { type: 'summary', summary: 'x' },
    said({ role: 'user', content: 'hi' }),
    said({ role: 'user', content: [{ type: 'text', text: 'hi' }] }),
    { ...said({ content: 'hi' }), uuid: undefined },
    said(),
    said({ role: 'user' }),
    said({ content: ['hi'] }),
    said({ content: [{ type: 'tool_result', content: 'x' }] }),
    { ...said({ content: [{ type: 'tool_use', id: 'a' }] }), type: 'assistant' },
  ]
  expect(reported(damagedOfClaudeCode(linesOf(records)))).toEqual([
    '4: has no uuid',
    '5: has no message',
    '6: has no content',
    '7: has a block that is no object',
    '8: has a tool_result without tool_use_id',
    '9: has a tool_use without name',
  ])
})

test('lines of Codex without required fields are reported', () => {
  const records = [
    { type: 'response_item', payload: { type: 'message', role: 'user', content: [] } },
    { type: 'response_item', payload: { type: 'ghost_snapshot' } },
    { type: 'message', role: 'user', content: 'hi' },
    { type: 'response_item' },
    { type: 'response_item', payload: { type: 'message', role: 'user' } },
    { type: 'response_item', payload: { type: 'function_call_output', output: 'x' } },
    { type: 'response_item', payload: { type: 'message', role: 'developer', content: 'rules' } },
    { type: 'response_item', payload: { type: 'message', role: 'critic', content: 'no' } },
    { type: 'message', content: 'hi' },
  ]
  expect(reported(readCodex(linesOf(records), 2).faults)).toEqual([
    '4: has no payload',
    '5: has no content',
    '6: has a function_call_output without call_id',
    '8: has the unknown role critic',
    '9: has no role',
  ])
})

test('UI messages without required fields are reported, and the other messages are imported', () => {
  const part = { type: 'text', text: 'hi' }
  const records = [
    { role: 'user', parts: [part] },
    { role: 'user', content: 'as older versions wrote it' },
    { role: 'system', parts: [part] },
    { role: 'user', parts: [{ type: 'text' }, part] },
    { role: 'assistant', parts: [{ type: 'tool-look', input: {} }, part] },
    { role: 'assistant', parts: [{ type: 'dynamic-tool', toolCallId: 'a' }] },
    { role: 'assistant', parts: [{ type: 'data-weather' }, part] },
  ]
  const { faults, messages } = readAiSdk(linesOf(records))
  expect(reported(faults)).toEqual([
    '2: has no parts',
    '3: is no message of a user or an assistant',
    '4: has a text without text',
    '5: has a tool-look without toolCallId',
    '6: has a dynamic-tool without toolName',
  ])
  expect(messages.map(({ line }) => line)).toEqual([1, 4, 5, 7])
})
