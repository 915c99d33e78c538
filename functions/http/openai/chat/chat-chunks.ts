import type { Usage } from '../../../domain/usage/usage.ts'
import type { RunEnd, RunStep } from '../../run-steps/run-step.ts'
import type { ChatUsage, FinishReason } from './chat-schemas.ts'

/** A call that the client has to execute. */
export interface ChatCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** How a chat completion ends. */
export type ChatEnd =
  | { readonly calls: readonly ChatCall[]; readonly reason: FinishReason; readonly usage: ChatUsage | undefined }
  | { readonly failure: { readonly status: 409 | 502; readonly code: string; readonly message: string } }

/** What the client is shown of a run. */
export interface ChatChunks {
  /** The text that this step adds; empty for none. */
  take(step: RunStep): string
  /** The text that comes last, and how it ends. */
  end(end: RunEnd): { readonly text: string; readonly end: ChatEnd }
}

/** Between the texts of two rounds. */
const BREAK = '\n\n'

/**
 * A run as one chat completion: the texts of the leader's rounds, one after another. Calls of our own tools and what members do are
 * left out. A text that its round took back stays, because the format cannot take it back.
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
        // A member's call may have the id of another.
        id:
          asked.findIndex((one) => one.message.toolCallId === message.toolCallId) === place
            ? message.toolCallId
            : message.id,
        type: 'function',
        function: { name: message.toolName, arguments: text },
      }))
      if (calls.length > 0) return { text: '', end: { calls, reason: 'tool_calls', usage } }
      isNewRound = true
      // The format has no word for a decision that somebody has to make.
      const approvals = waiting.map(({ message }) => `[waiting for approval: ${message.call}]`).join('\n')
      return { text: add(approvals), end: { calls, reason: finishOf(run.stopReason), usage } }
    },
  }
}

const finishOf = (stopReason: string | undefined): FinishReason =>
  stopReason === 'output_limit' || stopReason === 'max_rounds' || stopReason === 'budget' ? 'length' : 'stop'

/** What was used since `before`; undefined if the provider says nothing. */
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
