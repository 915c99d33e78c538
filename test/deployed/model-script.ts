import { setTimeout as sleep } from 'node:timers/promises'
import { planDemo } from '../../functions/adapters/models/demo/demo-plan.ts'
import type { ModelRequest, RequestMessage } from '../../functions/domain/model-request.ts'
import type { OpenAiMessage } from '../../functions/log/formats/openai-format.ts'
import { startOpenAiServer } from '../model-server/openai-server.ts'
import type { ChatRequest, OpenAiServer, OpenAiStep } from '../model-server/openai-server.ts'

/** `work 3 rounds of 500 ms`: three completions with a call, each after 500 ms, then a final one. */
const WORK = /^work (\d+) rounds of (\d+) ms$/

/** Starts a model server that understands the inputs of the demo model, and inputs for slow work. */
export function startModel(): Promise<OpenAiServer> {
  return startOpenAiServer(async (request, index): Promise<OpenAiStep> => {
    const start = request.messages.findLastIndex((message) => message.role === 'user')
    const [, rounds, milliseconds] = WORK.exec(textOf(request.messages[start]).trim()) ?? []
    if (rounds !== undefined) {
      await sleep(Number(milliseconds))
      const done = request.messages.slice(start + 1).filter((message) => message.role === 'assistant').length
      if (done >= Number(rounds))
        return { completion: { parts: [{ type: 'text', text: `done after ${done} rounds` }] } }
      const call = { type: 'tool_call', id: `call_${index}`, name: 'current_time', arguments: '{}' } as const
      return { completion: { parts: [{ type: 'text', text: `round ${done + 1}` }, call] } }
    }
    const plan = planDemo(toRequest(request))
    if (plan.kind === 'error') return { status: 500, body: { error: { message: plan.message } } }
    const calls = plan.calls.map(
      (call, place) => ({ type: 'tool_call', id: `call_${index}_${place}`, ...call }) as const,
    )
    return { completion: { parts: [{ type: 'text', text: plan.text }, ...calls] } }
  })
}

function toRequest({ messages, tools = [] }: ChatRequest): ModelRequest {
  const names = new Map(
    messages.flatMap((message) =>
      'tool_calls' in message ? (message.tool_calls ?? []).map((call) => [call.id, call.function.name] as const) : [],
    ),
  )
  return {
    messages: messages.flatMap((message): RequestMessage[] => {
      const parts = [{ type: 'text' as const, text: textOf(message) }]
      if (message.role === 'user' || message.role === 'assistant') return [{ role: message.role, parts }]
      if (message.role !== 'tool') return []
      const toolCallId = message.tool_call_id
      return [{ role: 'tool', toolCallId, toolName: names.get(toolCallId) ?? '', isError: false, parts }]
    }),
    tools: tools.map(({ function: { name } }) => ({ name, description: '', parameters: {} })),
    toolChoice: 'auto',
    options: {},
  }
}

function textOf(message: OpenAiMessage | undefined): string {
  const content = message?.content
  if (typeof content === 'string') return content
  return (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}
