import { describe, expect, it } from 'vitest'
import type { Message } from '../../../functions/domain/messages/message.ts'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import type { Model, Completion } from '../../../functions/ports/model.ts'
import { replay } from '../../../functions/log/replay.ts'
import { writeLog } from '../../generators/messages.ts'
import { startRecordingServer } from '../../model-server/recording-server.ts'
import type { ScriptedCompletion } from '../../model-server/scripted-completion.ts'
import type { Provider } from './providers.ts'
import { openModel, PROVIDERS } from './providers.ts'

const SECRET = Buffer.from('only they can read this').toString('base64')
const canRedact = (provider: Provider): boolean => provider.name === 'anthropic' || provider.name === 'bedrock'

function scripted(provider: Provider): ScriptedCompletion {
  return {
    parts: [
      { type: 'reasoning', text: 'hm', signature: 'c2lnMQ==' },
      ...(canRedact(provider) ? [{ type: 'redacted', data: SECRET } as const] : []),
      { type: 'text', text: 'Let me look. ' },
      { type: 'tool_call', id: 'call_1', name: 'shell', arguments: '{"n":12345678901234567890,"f":4.0}' },
      { type: 'tool_call', id: 'call_2', name: 'shell', arguments: '{"cmd":"ls"}' },
    ],
  }
}

function requestOf(log: readonly Message[]): ModelRequest {
  return {
    messages: replay(log, { currentRun: 'run-1', replay: 'full' }),
    tools: [{ name: 'shell', description: 'Runs a command', parameters: { type: 'object', properties: {} } }],
    toolChoice: 'auto',
    options: {},
  }
}

async function ask(model: Model, log: readonly Message[]): Promise<Completion> {
  for await (const event of model.stream(requestOf(log), new AbortController().signal)) {
    if (event.type === 'completion') return event.completion
  }
  throw new Error('no completion')
}

/**
 * Sends a request, stores the completion through JSON as the stores do, and adds results of the completion's calls.
 * Then sends the next request. Returns the bodies of both requests.
 */
async function twoRounds(provider: Provider): Promise<string[]> {
  const headers = { 'content-type': provider.contentType }
  const server = await startRecordingServer(() => ({ headers, frames: provider.frames(scripted(provider)) }))
  try {
    const model = await openModel(provider, server)
    const writer = writeLog().user('go')
    const { parts, toolCalls } = await ask(model, writer.log)
    writer.assistant(...parts.filter((part) => part.type !== 'tool_call'), ...toolCalls)
    writer.result(0, 'one').result(1, 'two')
    await ask(model, JSON.parse(JSON.stringify(writer.log)) as Message[])
    return server.requests.map((request) => request.body)
  } finally {
    await server.close()
  }
}

/** Texts that the second request to each provider must contain, in this order. */
const EXPECTED: { readonly [provider: string]: readonly string[] } = {
  'openai-compatible': [
    '{"role":"assistant","content":"Let me look. ","reasoning_content":"hm","tool_calls":[{"id":"call_1","type":"function","function":{"name":"shell","arguments":"{\\"n\\":12345678901234567890,\\"f\\":4.0}"}},{"id":"call_2","type":"function","function":{"name":"shell","arguments":"{\\"cmd\\":\\"ls\\"}"}}]}',
    '{"role":"tool","tool_call_id":"call_1","content":"one"},{"role":"tool","tool_call_id":"call_2","content":"two"}',
  ],
  openai: [
    '{"type":"reasoning","id":"rs_0","encrypted_content":"c2lnMQ==","summary":[{"type":"summary_text","text":"hm"}]}',
    '{"role":"assistant","content":"Let me look. "}',
    '{"type":"function_call","call_id":"call_1","name":"shell","arguments":"{\\"n\\":12345678901234567890,\\"f\\":4.0}"}',
    '{"type":"function_call_output","call_id":"call_1","output":"one"}',
  ],
  anthropic: [
    '{"type":"thinking","thinking":"hm","signature":"c2lnMQ=="}',
    `{"type":"redacted_thinking","data":"${SECRET}"}`,
    '{"type":"text","text":"Let me look. "}',
    '{"type":"tool_use","id":"call_1","name":"shell","input":{"n":12345678901234567890,"f":4.0}}',
    '{"type":"tool_result","tool_use_id":"call_1","content":"one"},{"type":"tool_result","tool_use_id":"call_2","content":"two"}',
  ],
  bedrock: [
    '{"reasoningContent":{"reasoningText":{"text":"hm","signature":"c2lnMQ=="}}}',
    `{"reasoningContent":{"redactedContent":"${SECRET}"}}`,
    '{"text":"Let me look. "}',
    '{"toolUse":{"toolUseId":"call_1","name":"shell","input":{"n":12345678901234567890,"f":4.0}}}',
    '{"toolResult":{"toolUseId":"call_1","content":[{"text":"one"}]}},{"toolResult":{"toolUseId":"call_2","content":[{"text":"two"}]}}',
  ],
}

describe.each(PROVIDERS)('$name', (provider) => {
  it('receives its own completion unchanged, with its metadata, followed by the results', async () => {
    const [, second = ''] = await twoRounds(provider)
    const places = (EXPECTED[provider.name] ?? []).map((part) => ({ part, at: second.indexOf(part) }))
    for (const place of places) expect(place).not.toMatchObject({ at: -1 })
    expect(places.map(({ at }) => at)).toEqual(places.map(({ at }) => at).toSorted((left, right) => left - right))
  })
})
