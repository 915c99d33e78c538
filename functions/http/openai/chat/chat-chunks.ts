import type { Usage } from '../../../domain/usage/usage.ts'
import type { RunEnd, RunStep } from '../../run-steps/run-step.ts'
import type { ChatUsage, FinishReason } from './chat-schemas.ts'

/** A call that the client must execute. */
export interface ChatCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** The end of a chat completion. */
export type ChatEnd =
  | { readonly calls: readonly ChatCall[]; readonly reason: FinishReason; readonly usage: ChatUsage | undefined }
  | { readonly failure: { readonly status: 409 | 502; readonly code: string; readonly message: string } }

/** Converts the steps of a run to the text that the client gets. */
export interface ChatChunks {
  /** The text that this step adds; may be empty. */
  take(step: RunStep): string
  /** The last text, and the end of the completion. */
  end(end: RunEnd): { readonly text: string; readonly end: ChatEnd }
}

/** Separates the texts of two rounds. */
const BREAK = '\n\n'

/**
 * Converts a run to one chat completion: the texts of the leader's rounds, one after another. Calls of our own tools
 * and the work of members are omitted. If a round is retried, its streamed text stays, because the format cannot
 * retract it.
 */
export function createChatChunks(): ChatChunks {
  let isEmpty = true
  let isNewRound = false
  const add = (text: string): string => {
    if (text === '') return ''
    const before = isNewRound && !isEmpty ? BREAK : ''
    isEmpty = false
    isNewRound = false
    return before + text
  }
  return {
    take(step) {
      if (step.type === 'notice' || step.parentToolCallId !== undefined) return ''
      if (step.type === 'round' || step.type === 'discard') isNewRound = true
      return step.type === 'text' ? add(step.text) : ''
    },
    end({ run, waiting, usedBefore }) {
      const usage = chatUsage(run.usage, usedBefore)
      if (run.status === 'failed') {
        const { code, message } = run.error ?? { code: 'provider_error', message: 'the run failed' }
        return { text: '', end: { failure: { status: 502, code, message } } }
      }
      if (run.status === 'cancelled') {
        const message = `run ${run.id} was cancelled${run.stopReason === 'superseded' ? ' by a newer input' : ''}`
        return { text: '', end: { failure: { status: 409, code: 'run_cancelled', message } } }
      }
      const asked = waiting.filter(({ message }) => message.needs === 'result')
      const calls = asked.map(({ message, arguments: text }, place): ChatCall => ({
        // Calls of different members may have the same id. Only the first of these calls keeps the id.
        id:
          asked.findIndex((one) => one.message.toolCallId === message.toolCallId) === place
            ? message.toolCallId
            : message.id,
        type: 'function',
        function: { name: message.toolName, arguments: text },
      }))
      if (calls.length > 0) return { text: '', end: { calls, reason: 'tool_calls', usage } }
      isNewRound = true
      // An approval is shown as text, because the format has no field for it.
      const approvals = waiting.map(({ message }) => `[waiting for approval: ${message.call}]`).join('\n')
      return { text: add(approvals), end: { calls, reason: finishOf(run.stopReason), usage } }
    },
  }
}

const finishOf = (stopReason: string | undefined): FinishReason =>
  stopReason === 'output_limit' || stopReason === 'max_rounds' || stopReason === 'budget' ? 'length' : 'stop'

/** The usage since `before`; undefined if the provider reports none. */
function chatUsage(used: Usage, before: Usage | undefined): ChatUsage | undefined {
  if (used.inputTokens === null && used.outputTokens === null) return undefined
  const since = (field: 'inputTokens' | 'outputTokens' | 'cachedInputTokens' | 'reasoningTokens'): number =>
    Math.max(0, (used[field] ?? 0) - (before?.[field] ?? 0))
  const [prompt, completion] = [since('inputTokens'), since('outputTokens')]
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: since('cachedInputTokens') },
    completion_tokens_details: { reasoning_tokens: since('reasoningTokens') },
  }
}
