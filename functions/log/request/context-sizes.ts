import type { Agent } from '../../domain/agent.ts'
import type { SessionContext } from '../../domain/context.ts'

/** Context window of an unknown model, in tokens. */
const DEFAULT_TOKENS = 200_000

/**
 * Context window of each model in tokens, by its name without provider and region; the first match counts. The figures
 * are from the providers' model pages in November 2026 (platform.claude.com/docs/en/about-claude/models,
 * platform.openai.com/docs/models, ai.google.dev/gemini-api/docs/models, docs.aws.amazon.com/nova). Sizes that need a
 * beta header or a server setting are omitted. An agent's `context_tokens` takes precedence.
 */
const TOKENS: readonly (readonly [name: RegExp, tokens: number])[] = [
  [/claude-(?:(?:opus|sonnet)-(?:4-[6-9]|[5-9])|fable|mythos)/, 1_000_000],
  [/claude/, 200_000],
  [/gpt-5(?:\.\d)?-chat/, 128_000],
  [/gpt-5/, 400_000],
  [/gpt-4\.1/, 1_047_576],
  [/gpt-4o|gpt-4-turbo/, 128_000],
  [/gpt-oss/, 131_072],
  [/gpt-4/, 8_192],
  [/gpt-3\.5/, 16_385],
  [/gemini/, 1_048_576],
  [/nova-micro/, 128_000],
  [/nova-(?:lite|pro)/, 300_000],
  [/llama-?3[.-][123]|mistral-large|deepseek/, 128_000],
]

type Limits = NonNullable<SessionContext['limits']>

/** Returns the context window of an agent's model in tokens, including its completion. `limits`: learned from refusals. */
export function contextTokensOf({ model, policies }: Pick<Agent, 'model' | 'policies'>, limits: Limits = {}): number {
  return Math.min(assumedTokens(model, policies), limitOf(model, limits))
}

function assumedTokens(model: string, policies: Agent['policies']): number {
  if (policies.contextTokens !== null) return policies.contextTokens
  const name = model.slice(model.indexOf('/') + 1).toLowerCase()
  return TOKENS.find(([pattern]) => pattern.test(name))?.[1] ?? DEFAULT_TOKENS
}

const limitOf = (model: string, limits: Limits): number =>
  Object.hasOwn(limits, model) ? (limits[model] ?? Infinity) : Infinity

/** Returns the maximum tokens of an agent's request, so that its completion fits as well. */
export function requestTokensOf(
  { model, modelOptions, policies }: Pick<Agent, 'model' | 'modelOptions' | 'policies'>,
  limits: Limits = {},
): number {
  const tokens = assumedTokens(model, policies)
  // If little or nothing remained, the provider decides.
  const own = Math.max(tokens - (modelOptions.maxOutputTokens ?? 0), Math.ceil(tokens / 10))
  return Math.min(own, limitOf(model, limits))
}

/** A request was refused as too long: what is said of it, in estimated tokens and in the provider's own. */
export interface SizeRefusal {
  /** Estimated tokens of the request. */
  readonly estimate: number
  /** Tokens that the model takes, as the provider says. */
  readonly maxTokens?: number
  /** Tokens of the request, as the provider counts them. */
  readonly tokens?: number
  /** The provider names the reason by a code. */
  readonly isCoded?: boolean
}

/** Share of a refused size that is assumed to be accepted where the provider names no number, and the least such limit. */
const BELOW_REFUSED = 0.9
const MIN_ASSUMED = 1_000
/** A limit is at least this share of the number that the provider names: its own count may include the output. */
const MIN_SHARE = 0.5

/**
 * The limits once this refusal is known, in estimated tokens. A refusal never raises a limit. A sentence without a number and without
 * a code teaches no limit: it may be about something else.
 */
export function limitsAfter(limits: Limits | undefined, model: string, refusal: SizeRefusal): Limits | undefined {
  if (refusal.maxTokens === undefined && refusal.isCoded !== true) return limits
  return { ...limits, [model]: Math.min(limitOf(model, limits ?? {}), acceptedTokens(refusal)) }
}

function acceptedTokens({ estimate, maxTokens, tokens }: SizeRefusal): number {
  if (maxTokens === undefined) return Math.max(MIN_ASSUMED, Math.floor(estimate * BELOW_REFUSED))
  // Where both are counted by the provider, their ratio also holds for the estimate.
  const accepted = tokens === undefined ? estimate * BELOW_REFUSED : (estimate * maxTokens) / tokens
  return Math.floor(Math.min(maxTokens, Math.max(accepted, maxTokens * MIN_SHARE)))
}

/** Tokens of a request that is sent after this refusal; Infinity where the provider names no number. */
export function targetAfter({ estimate, maxTokens, tokens }: SizeRefusal): number {
  if (maxTokens === undefined) return Infinity
  return BELOW_REFUSED * (tokens === undefined ? maxTokens : Math.min(maxTokens, (estimate * maxTokens) / tokens))
}
