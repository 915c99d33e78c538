import { encode } from '@msgpack/msgpack'
import { expect, test } from 'vitest'
import { valueOf } from '../../../functions/cli/import/file-lines.ts'
import { createNativeImport } from '../../../functions/log/import/native.ts'
import { createOpenAiImport } from '../../../functions/log/import/openai.ts'
import { compactJson } from '../../../functions/log/json/json-spans.ts'
import { readAiSdk } from '../../../functions/log/session-files/ai-sdk.ts'
import { readClaudeCode } from '../../../functions/log/session-files/claude-code.ts'
import { readCodex } from '../../../functions/log/session-files/codex.ts'
import { readLangGraph } from '../../../functions/log/session-files/langgraph.ts'
import type { FileMessage } from '../../../functions/log/session-files/transcript.ts'
import { jsonText } from '../../generators/json-text.ts'
import { fc } from '../../generators/seeded.ts'

const VALUES = fc.sample(jsonText, { numRuns: 20, seed: 13 }).join(',')
const INPUT = `{"id":9007199254740993,"total":10.00,"values":[${VALUES}]}`.replaceAll('\n', ' ')
const COMPACT = compactJson(INPUT, { from: 0, to: INPUT.length })
const BESIDE = { agentLines: () => undefined, output: () => undefined }

/** Parses lines with the parser that imports use for files. */
const linesOf = (...texts: readonly string[]) =>
  texts.map((text, place) => {
    const read = valueOf(Buffer.from(text))
    if ('fault' in read) throw new Error(`${text} ${read.fault}`)
    return { line: place + 1, value: read.value }
  })

/** Returns the call arguments and result texts that an import stores. */
function storedOf(messages: readonly Pick<FileMessage, 'value'>[], reader = createNativeImport()): string[] {
  const closed = [...messages.flatMap(({ value }) => reader.take(value, 'message')), ...reader.end()]
  return closed.flatMap((one) => {
    if (one.role === 'assistant') return one.toolCalls.map(({ arguments: text }) => text)
    return one.role === 'tool' ? one.parts.flatMap((part) => ('text' in part ? part.text : [])) : []
  })
}

test('field/19/claude-code: the input of a call keeps its numbers', () => {
  const content = `[{"type":"tool_use","id":"c","name":"pay","input":${INPUT}}]`
  const lines = linesOf(
    '{"type":"user","uuid":"u","message":{"content":"pay"}}',
    `{"type":"assistant","uuid":"a","message":{"id":"m","content":${content}}}`,
  )
  expect(storedOf(readClaudeCode(lines, BESIDE, 2).messages)[0]).toBe(COMPACT)
})

test('field/19/codex: actions keep their numbers, and arguments their text', () => {
  const item = (payload: string): string => `{"type":"response_item","payload":${payload}}`
  const lines = linesOf(
    item('{"type":"message","role":"user","content":[{"type":"input_text","text":"pay"}]}'),
    item(`{"type":"function_call","call_id":"c","name":"pay","arguments":${JSON.stringify(INPUT)}}`),
    item(`{"type":"local_shell_call","call_id":"d","action":${INPUT}}`),
  )
  expect(storedOf(readCodex(lines, 2).messages).slice(0, 2)).toEqual([INPUT, COMPACT])
})

test('field/19/ai-sdk: inputs and outputs keep their numbers', () => {
  const part = `{"type":"tool-pay","toolCallId":"c","state":"output-available","input":${INPUT},"output":${INPUT}}`
  const lines = linesOf(
    '{"role":"user","parts":[{"type":"text","text":"pay"}]}',
    `{"role":"assistant","parts":[${part}]}`,
  )
  expect(storedOf(readAiSdk(lines).messages)).toEqual([COMPACT, COMPACT])
})

test('field/19/openai-file: arguments keep their text', () => {
  const call = `{"id":"c","type":"function","function":{"name":"pay","arguments":${JSON.stringify(INPUT)}}}`
  const lines = linesOf(`{"role":"assistant","content":null,"tool_calls":[${call}]}`)
  expect(storedOf(lines as never, createOpenAiImport())[0]).toBe(INPUT)
})

test('field/19/langgraph-json: the arguments of a call keep their numbers', () => {
  const kwargs = `{"type":"ai","content":"","id":"a","tool_calls":[{"id":"c","name":"pay","args":${INPUT}}]}`
  const message = `{"lc":1,"type":"constructor","id":["langchain","ai"],"kwargs":${kwargs}}`
  const checkpoint = Buffer.from(`{"ts":"2026-01-01T00:00:00Z","channel_values":{"messages":[${message}]}}`)
  const { messages, faults } = readLangGraph([{ line: 1, type: 'json', checkpoint }])
  expect(faults).toEqual([])
  expect(storedOf(messages)[0]).toBe(COMPACT)
})

test('field/19/langgraph-msgpack: large integers of a call keep their digits', () => {
  const args = { id: 9_007_199_254_740_993n, least: -9_223_372_036_854_775_808n, small: 7, half: 0.5 }
  const fields = { type: 'ai', content: '', id: 'a', tool_calls: [{ id: 'c', name: 'pay', args }] }
  // LangGraph packs a message as an extension: its module, class and fields.
  const packed = encode(['langchain_core.messages', 'AIMessage', fields, null], { useBigInt64: true })
  const header = Buffer.from([0xc8, packed.length >> 8, packed.length & 0xff, 5])
  const list = Buffer.concat([Buffer.from([0x91]), header, packed])
  const map = (name: string, value: Uint8Array): Buffer =>
    Buffer.concat([Buffer.from([0x81]), Buffer.from(encode(name)), value])
  const checkpoint = map('channel_values', map('messages', list))
  const { messages, faults } = readLangGraph([{ line: 1, type: 'msgpack', checkpoint }])
  expect(faults).toEqual([])
  expect(storedOf(messages)[0]).toBe('{"id":9007199254740993,"least":-9223372036854775808,"small":7,"half":0.5}')
})
