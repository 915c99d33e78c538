import type { Attempt } from '../sessions/chat-turn.ts'
import type { Run, RunError } from '../../../domain/runs/run.ts'
import type { JsonObject } from '../../../domain/json.ts'
import type { Usage } from '../../../domain/usage/usage.ts'
import type { ResponsePart, ResponseState } from './response-run.ts'
import type { ResponseResource } from './response-schemas.ts'

/** The data stored for a Response in addition to its run. They are stored under the Response's name, in its session. */
export interface AboutResponse {
  readonly model: string
  /**
   * How many times the run had asked the client for results before this Response. If `of` is set, the number applies
   * only to the run with that id.
   */
  readonly asked: number
  readonly of?: string
  readonly previous?: string
  readonly background?: boolean
  readonly toolChoice?: ResponseResource['tool_choice']
  readonly format?: JsonObject
  readonly metadata?: JsonObject
  readonly user?: string
  readonly safetyIdentifier?: string
  readonly promptCacheKey?: string
  /** The types of the request's tools that are ignored. */
  readonly ignoredTools?: readonly string[]
}

export interface ShownResponse extends ResponsePart {
  readonly id: string
  readonly about: AboutResponse
  readonly isStored: boolean
  /**
   * The attempt of the request that is being answered. Absent if the request has an idempotency key, or if the Response
   * is read later.
   */
  readonly attempt?: Attempt
}

/**
 * The fields that the specification of Open Responses requires, but that have no counterpart here. The values are the
 * API's defaults, although the agent's settings apply.
 */
const DEFAULTS = {
  max_output_tokens: null,
  max_tool_calls: null,
  parallel_tool_calls: true,
  presence_penalty: 0,
  frequency_penalty: 0,
  reasoning: null,
  service_tier: 'default',
  temperature: 1,
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
} as const

/** The current state of a Response, in OpenAI's format. */
export function responseResource({ id, key, about, isStored }: ShownResponse, state: ResponseState): ResponseResource {
  const { run, items, usage } = state
  const status = statusOf(state)
  const isOver = status !== 'queued' && status !== 'in_progress'
  const instructions = run.instructions ?? null
  return {
    ...DEFAULTS,
    id,
    object: 'response',
    created_at: seconds(run.createdAt),
    completed_at: state.status === 'ended' && run.endedAt !== undefined ? seconds(run.endedAt) : null,
    status,
    background: about.background ?? false,
    error: status === 'failed' ? errorOf(run.error) : null,
    incomplete_details: status === 'incomplete' && isCutOff(run) ? { reason: 'max_output_tokens' } : null,
    instructions,
    metadata: { ...about.metadata, ...notesOf(about, state) },
    model: about.model,
    output: items.map((item): JsonObject => ({ ...item })),
    previous_response_id: about.previous ?? null,
    conversation: { id: key.session },
    prompt_cache_key: about.promptCacheKey ?? null,
    safety_identifier: about.safetyIdentifier ?? null,
    store: isStored,
    text: { format: about.format ?? { type: 'text' } },
    tool_choice: about.toolChoice ?? 'auto',
    tools: run.clientTools.map(({ name, description, parameters, strict = false }) => ({
      type: 'function',
      name,
      description,
      parameters,
      strict,
    })),
    usage: isOver && usage !== undefined ? usageOf(usage) : null,
    user: about.user ?? null,
  }
}

/** Entries of the metadata for content that the format has no fields for. */
const notesOf = ({ ignoredTools = [] }: AboutResponse, { status }: ResponseState): JsonObject => ({
  ...(ignoredTools.length === 0 ? {} : { tooltrail_ignored_tools: ignoredTools.join(',') }),
  ...(status === 'waits' ? { tooltrail_waiting: 'approval' } : {}),
})

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1_000)

function statusOf({ run, status }: ResponseState): ResponseResource['status'] {
  if (status === 'queued' || status === 'in_progress') return status
  if (status === 'asks') return 'completed'
  if (status === 'waits') return 'incomplete'
  if (run.status === 'failed' || run.status === 'cancelled') return run.status
  return isCutOff(run) ? 'incomplete' : 'completed'
}

const isCutOff = ({ stopReason }: Run): boolean =>
  stopReason === 'output_limit' || stopReason === 'max_rounds' || stopReason === 'budget'

/** Converts an error. Clients know only a few codes, so our code is in the message. */
function errorOf(error: RunError | undefined): ResponseResource['error'] {
  const { code, message } = error ?? { code: 'provider_error', message: 'the run failed' }
  const theirs =
    code === 'rate_limited'
      ? 'rate_limit_exceeded'
      : code === 'refused' || code === 'context_length' || code === 'invalid_request'
        ? 'invalid_prompt'
        : 'server_error'
  return { code: theirs, message: `${code}: ${message}` }
}

function usageOf(used: Usage): ResponseResource['usage'] {
  if (used.inputTokens === null && used.outputTokens === null) return null
  const [input, output] = [used.inputTokens ?? 0, used.outputTokens ?? 0]
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: used.cachedInputTokens ?? 0,
      cache_write_tokens: used.cacheWriteTokens ?? 0,
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: used.reasoningTokens ?? 0 },
    total_tokens: input + output,
  }
}

/** Returns the type of a stream's last event. Clients know only these three types. */
export function lastEventType({ status }: ResponseResource): string {
  return status === 'completed' || status === 'failed' ? `response.${status}` : 'response.incomplete'
}
