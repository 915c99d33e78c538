import { afterEach, expect, test } from 'vitest'
import { ModelError } from '../../../functions/ports/model.ts'
import { completionOf, makeTool } from '../../agent/harness.ts'
import { openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { agUiAgent, runAgUi, say } from './client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

test("a call is emitted when it is stored; a retried round emits only the last attempt's calls", async () => {
  const piece = { type: 'tool_call.delta', sequence: 0, toolCallId: 'c1', toolName: 'weather' } as const
  harness = await openHttpHarness({
    script: [
      async function* () {
        yield { ...piece, arguments: '{"city":"Par' }
        throw new ModelError('network', 'broken', { retryable: true })
      },
      async function* () {
        yield { ...piece, arguments: '{"city":' }
        yield { ...piece, arguments: '"Berlin"}' }
        const call = { id: 'c1', name: 'weather', arguments: '{"city":"Berlin"}' }
        yield { type: 'completion', completion: completionOf({ calls: [call] }) }
      },
    ],
  })
  const one = agUiAgent(harness, [say('Weather?')])
  const { types } = await runAgUi(one, {
    tools: [{ name: 'weather', description: '', parameters: { type: 'object' } }],
  })
  const calls = ['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END']
  expect(types.filter((type) => type.startsWith('TOOL_CALL'))).toEqual(calls)
  const asked = one.messages.filter(({ role }) => role === 'assistant')
  expect(asked).toMatchObject([{ toolCalls: [{ function: { name: 'weather', arguments: '{"city":"Berlin"}' } }] }])
})

test('messages of discarded attempts have separate ids, and a repeated request does not get these messages', async () => {
  const broken = async function* () {
    yield { type: 'text.delta', part: 0, text: 'Half ' } as const
    throw new ModelError('network', 'broken', { retryable: true })
  }
  harness = await openHttpHarness({
    tools: [makeTool('look', async () => ({ text: 'seen' }))],
    script: [broken, { text: 'I look.', calls: [{ name: 'look' }] }, broken, { text: 'Whole.' }],
  })
  const input = say('Go')
  const textsOf = async (): Promise<Map<string, string>> => {
    const texts = new Map<string, string>()
    const { events } = await runAgUi(agUiAgent(harness, [input]), { runId: 'once' })
    for (const { type, messageId, delta } of events)
      if (type === 'TEXT_MESSAGE_CONTENT')
        texts.set(String(messageId), (texts.get(String(messageId)) ?? '') + String(delta))
    return texts
  }
  const live = await textsOf()
  expect([...live.values()]).toEqual(['Half ', 'I look.', 'Half ', 'Whole.'])
  const kept = [...live].filter(([, text]) => text !== 'Half ')
  expect([...(await textsOf())]).toEqual(kept)
})
