/** A scripted completion. The stream of each provider is built from it. */
export interface ScriptedCompletion {
  readonly parts: readonly ScriptedPart[]
  /** Default: `tool-calls` if there are calls, otherwise `stop`. */
  readonly finish?: 'stop' | 'tool-calls' | 'length' | 'filtered'
  /** UTF-16 units of each streamed chunk of text or arguments. Default: 7. */
  readonly pieceSize?: number
}

export type ScriptedPart =
  | { readonly type: 'text'; readonly text: string }
  /** `signature`: a token that the provider requires with the reasoning in later requests. With it, `text` may be empty. */
  | { readonly type: 'reasoning'; readonly text: string; readonly signature?: string }
  /** Reasoning that only the provider can read (Anthropic, Bedrock); base64. */
  | { readonly type: 'redacted'; readonly data: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: string }

/** Usage of every scripted completion. */
export const USED = { input: 120, cached: 100, cacheWrite: 7, output: 45, reasoning: 12 } as const

export const finishOf = (completion: ScriptedCompletion): 'stop' | 'tool-calls' | 'length' | 'filtered' =>
  completion.finish ?? (completion.parts.some((part) => part.type === 'tool_call') ? 'tool-calls' : 'stop')

/**
 * Splits the text as a stream does, into chunks of at most `size` UTF-16 units. A split may be within a character. Returns at
 * least one chunk.
 */
export function piecesOf(text: string, size = 7): string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size))
  return pieces.length > 0 ? pieces : ['']
}

export const sse = (data: unknown, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
