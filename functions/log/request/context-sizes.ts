import type { Agent } from '../../domain/agent.ts'

/** Tokens of a context unless something says otherwise. */
const DEFAULT_TOKENS = 200_000

/**
 * Tokens that the context of a model holds, by its name without provider and region; the first that fits counts. As the
 * providers' pages of models said in November 2026 (platform.claude.com/docs/en/about-claude/models,
 * platform.openai.com/docs/models, ai.google.dev/gemini-api/docs/models, docs.aws.amazon.com/nova); sizes that need a
 * beta header or a server setting are left out. An agent's `context_tokens` wins.
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

/** How many tokens the context of an agent's model holds, its completion included. */
export function contextTokensOf({ model, policies }: Pick<Agent, 'model' | 'policies'>): number {
  if (policies.contextTokens !== null) return policies.contextTokens
  const name = model.slice(model.indexOf('/') + 1).toLowerCase()
  return TOKENS.find(([pattern]) => pattern.test(name))?.[1] ?? DEFAULT_TOKENS
}

/** Tokens that a request of an agent may have: its completion needs room as well. */
export function requestTokensOf(agent: Pick<Agent, 'model' | 'modelOptions' | 'policies'>): number {
  const tokens = contextTokensOf(agent)
  // If little or nothing would be left, the provider decides.
  return Math.max(tokens - (agent.modelOptions.maxOutputTokens ?? 0), Math.ceil(tokens / 10))
}
