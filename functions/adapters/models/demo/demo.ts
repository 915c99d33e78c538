import { setTimeout as sleep } from 'node:timers/promises'
import type { AssistantPart, ToolCall } from '../../../domain/messages/message.ts'
import type { ModelRequest } from '../../../domain/model-request.ts'
import type { Usage } from '../../../domain/usage/usage.ts'
import type { Model, ModelEvent } from '../../../ports/model.ts'
import { ModelError } from '../../../ports/model.ts'
import { planDemo } from './demo-plan.ts'

const DELTA_CHARACTERS = 24
/** Pause between deltas, so that people see them arrive. */
const PAUSE_MS = 5

/**
 * Creates a substitute for a model. The substitute needs no key and no network. It is deterministic and not a language
 * model, and every completion says so. It calls the real tools for a few fixed patterns of input, and builds its text
 * from their results.
 */
export function createDemoModel(): Model {
  return { name: 'demo/demo', stream: streamDemo }
}

async function* streamDemo(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
  signal.throwIfAborted()
  const plan = planDemo(request)
  if (plan.kind === 'error') throw new ModelError('provider_error', plan.message, { retryable: false })
  const toolCalls = plan.calls.map((call, sequence): ToolCall => ({
    id: `demo_${request.messages.length}_${sequence}`,
    ...call,
  }))
  const parts: AssistantPart[] = [
    ...(plan.reasoning === undefined ? [] : [{ type: 'reasoning' as const, text: plan.reasoning }]),
    { type: 'text', text: plan.text },
    ...toolCalls.map(({ id }) => ({ type: 'tool_call' as const, id })),
  ]
  for (const [part, content] of parts.entries()) {
    if (content.type !== 'text' && content.type !== 'reasoning') continue
    for (const text of pieces(content.text)) {
      await pause(signal)
      yield { type: `${content.type}.delta`, part, text }
    }
  }
  for (const [sequence, call] of toolCalls.entries()) {
    for (const text of pieces(call.arguments)) {
      await pause(signal)
      yield { type: 'tool_call.delta', sequence, toolCallId: call.id, toolName: call.name, arguments: text }
    }
  }
  const finishReason = toolCalls.length > 0 ? 'tool-calls' : 'stop'
  yield {
    type: 'completion',
    completion: { parts, toolCalls, model: 'demo/demo', finishReason, usage: usageOf(request, parts, toolCalls) },
  }
}

async function pause(signal: AbortSignal): Promise<void> {
  await sleep(PAUSE_MS, undefined, { signal }).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : error
  })
}

function pieces(text: string): string[] {
  const characters = Array.from(text)
  const count = Math.ceil(characters.length / DELTA_CHARACTERS)
  return Array.from({ length: count }, (_, at) =>
    characters.slice(at * DELTA_CHARACTERS, (at + 1) * DELTA_CHARACTERS).join(''),
  )
}

/** Estimates the usage: four characters count as one token. */
function usageOf(request: ModelRequest, parts: readonly AssistantPart[], toolCalls: readonly ToolCall[]): Usage {
  const tokens = (value: unknown): number => Math.ceil(JSON.stringify(value, withoutBytes).length / 4)
  const inputTokens = tokens([request.instructions, request.messages, request.tools])
  const outputTokens = tokens([parts, toolCalls])
  const reasoning = parts.filter((part) => part.type === 'reasoning')
  return {
    inputTokens,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens,
    reasoningTokens: reasoning.length === 0 ? 0 : tokens(reasoning),
    totalTokens: inputTokens + outputTokens,
  }
}

const withoutBytes = (_key: string, value: unknown): unknown => (value instanceof Uint8Array ? undefined : value)
