/** A model's completion as a test scripts it; each provider's stream is made from it. */
export interface ScriptedCompletion {
  readonly parts: readonly ScriptedPart[]
  /** Left out: `tool-calls` with calls, else `stop`. */
  readonly finish?: 'stop' | 'tool-calls' | 'length' | 'filtered'
  /** UTF-16 units of each streamed piece of text or arguments; 7 when left out. */
  readonly pieceSize?: number
}

export type ScriptedPart =
  | { readonly type: 'text'; readonly text: string }
  /** `signature`: what the provider wants back with the reasoning; `text` may then be empty. */
  | { readonly type: 'reasoning'; readonly text: string; readonly signature?: string }
  /** Reasoning that only the provider can read (Anthropic, Bedrock); base64. */
  | { readonly type: 'redacted'; readonly data: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: string }

/** Usage of every scripted completion. */
export const USED = { input: 120, cached: 100, cacheWrite: 7, output: 45, reasoning: 12 } as const

export const finishOf = (completion: ScriptedCompletion): 'stop' | 'tool-calls' | 'length' | 'filtered' =>
  completion.finish ?? (completion.parts.some((part) => part.type === 'tool_call') ? 'tool-calls' : 'stop')

/** The text in pieces of at most `size` UTF-16 units, as streams split it: also within a character. Never none. */
export function piecesOf(text: string, size = 7): string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size))
  return pieces.length > 0 ? pieces : ['']
}

export const sse = (data: unknown, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
