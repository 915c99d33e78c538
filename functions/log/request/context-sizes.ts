import type { Agent } from '../../domain/agent.ts'
import type { SessionContext } from '../../domain/context.ts'

/** Context window of an unknown model, in tokens. */
const DEFAULT_TOKENS = 200_000

/**
 * Context window of each model, in tokens. The pattern matches the model's name without provider and region; the first match is
 * used. The figures are from the providers' model pages in November 2026 (platform.claude.com/docs/en/about-claude/models,
 * platform.openai.com/docs/models, ai.google.dev/gemini-api/docs/models, docs.aws.amazon.com/nova). Sizes that need a beta header
 * or a server setting are omitted. An agent's `context_tokens` takes precedence.
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

/**
 * Returns the context window of an agent's model, in tokens. A request and its completion share the window. `limits`:
 * learned from refusals.
 */
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

/** Returns the maximum tokens of an agent's request. The rest of the context is for the completion. */
export function requestTokensOf(
  { model, modelOptions, policies }: Pick<Agent, 'model' | 'modelOptions' | 'policies'>,
  limits: Limits = {},
): number {
  const tokens = assumedTokens(model, policies)
  // A request may always use a tenth of the context, whatever `maxOutputTokens` is. If a tenth is too much, the
  // provider refuses the request.
  const own = Math.max(tokens - (modelOptions.maxOutputTokens ?? 0), Math.ceil(tokens / 10))
  return Math.min(own, limitOf(model, limits))
}

/** The size of a request that was refused as too long, as estimated here and as counted by the provider. */
export interface SizeRefusal {
  /** Estimated tokens of the request. */
  readonly estimate: number
  /** Maximum tokens that the model accepts, according to the provider. */
  readonly maxTokens?: number
  /** Tokens of the request, counted by the provider. */
  readonly tokens?: number
  /** Whether the provider gave an error code for requests that are too long. */
  readonly isCoded?: boolean
}

/**
 * If the provider names no limit, the model is assumed to accept this share of the refused size, and at least `MIN_ASSUMED`
 * tokens.
 */
const BELOW_REFUSED = 0.9
const MIN_ASSUMED = 1_000
/**
 * A learned limit is at least this share of the limit that the provider names. Without this minimum, the limit would be too low
 * if the provider's count of the request includes the output.
 */
const MIN_SHARE = 0.5

/**
 * Returns the limits after this refusal, in estimated tokens. A refusal never raises a limit. An error message with neither a
 * number nor a code changes no limit, because it may mean something else.
 */
export function limitsAfter(limits: Limits | undefined, model: string, refusal: SizeRefusal): Limits | undefined {
  if (refusal.maxTokens === undefined && refusal.isCoded !== true) return limits
  return { ...limits, [model]: Math.min(limitOf(model, limits ?? {}), acceptedTokens(refusal)) }
}

function acceptedTokens({ estimate, maxTokens, tokens }: SizeRefusal): number {
  if (maxTokens === undefined) return Math.max(MIN_ASSUMED, Math.floor(estimate * BELOW_REFUSED))
  // If the provider counted the request's tokens, the estimate is multiplied by the provider's limit and divided by
  // this count.
  const accepted = tokens === undefined ? estimate * BELOW_REFUSED : (estimate * maxTokens) / tokens
  return Math.floor(Math.min(maxTokens, Math.max(accepted, maxTokens * MIN_SHARE)))
}

/** Returns the maximum tokens of the next request after this refusal; Infinity if the provider named no limit. */
export function targetAfter({ estimate, maxTokens, tokens }: SizeRefusal): number {
  if (maxTokens === undefined) return Infinity
  return BELOW_REFUSED * (tokens === undefined ? maxTokens : Math.min(maxTokens, (estimate * maxTokens) / tokens))
}
