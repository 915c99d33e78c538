/** Tokens of output that a request asks for where its agent sets none: the providers' own defaults cut off large arguments. */
const ANTHROPIC = 32_000
const CLAUDE_ON_BEDROCK = 8_192
const SERVER = 8_192

/** The same by provider; undefined: the model's own limit, which the request does not name. */
export function outputTokensFor(provider: string, modelId: string): number | undefined {
  switch (provider) {
    case 'anthropic':
      return ANTHROPIC
    case 'bedrock':
      // Other families use their model's own maximum, which may be less.
      return modelId.includes('anthropic.') ? CLAUDE_ON_BEDROCK : undefined
    case 'openai-compatible':
      return SERVER
    default:
      // OpenAI's own: reasoning counts as output there.
      return undefined
  }
}
