import type { Agent } from '../../domain/agent.ts'

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

/** Returns the context window of an agent's model in tokens, including its completion. */
export function contextTokensOf({ model, policies }: Pick<Agent, 'model' | 'policies'>): number {
  if (policies.contextTokens !== null) return policies.contextTokens
  const name = model.slice(model.indexOf('/') + 1).toLowerCase()
  return TOKENS.find(([pattern]) => pattern.test(name))?.[1] ?? DEFAULT_TOKENS
}

/** Returns the maximum tokens of an agent's request, so that its completion fits as well. */
export function requestTokensOf(agent: Pick<Agent, 'model' | 'modelOptions' | 'policies'>): number {
  const tokens = contextTokensOf(agent)
  // If little or nothing remained, the provider decides.
  return Math.max(tokens - (agent.modelOptions.maxOutputTokens ?? 0), Math.ceil(tokens / 10))
}
