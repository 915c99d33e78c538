import { afterEach, expect, test } from 'vitest'
import { ModelError } from '../../../functions/ports/model.ts'
import { completionOf } from '../../agent/harness.ts'
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
