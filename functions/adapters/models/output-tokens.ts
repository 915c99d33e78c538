/** Output tokens to request if the agent sets no limit. The providers' own defaults would truncate large arguments. */
const ANTHROPIC = 32_000
const CLAUDE_ON_BEDROCK = 8_192
const SERVER = 8_192

/**
 * Returns the output tokens to request, by provider; undefined for the model's own limit, which the request does not
 * name.
 */
export function outputTokensFor(provider: string, modelId: string): number | undefined {
  switch (provider) {
    case 'anthropic':
      return ANTHROPIC
    case 'bedrock':
      // Models of other families use their own maximum, which may be lower than ours.
      return modelId.includes('anthropic.') ? CLAUDE_ON_BEDROCK : undefined
    case 'openai-compatible':
      return SERVER
    default:
      // OpenAI's own limit is used, because reasoning counts as output there.
      return undefined
  }
}
