import type { Context } from '../../functions/client/api-types.ts'

export type Kind = 'instructions' | 'summary' | 'user' | 'assistant' | 'tool'
/** A part of a request, with its share of the estimated tokens. */
export interface ContextPart {
  readonly kind: Kind
  readonly name: string
  readonly text: string
  readonly tokens: number
}

/** Kinds of parts, in the order in which they are drawn. */
export const KINDS: readonly { readonly kind: Kind; readonly label: string }[] = [
  { kind: 'instructions', label: 'instructions' },
  { kind: 'summary', label: 'summary' },
  { kind: 'user', label: 'inputs' },
  { kind: 'assistant', label: 'completions' },
  { kind: 'tool', label: 'tool results' },
]

/** The fields of a Chat Completions message that are read. */
interface ChatMessage {
  readonly role: string
  readonly content?: unknown
  readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: string } }[]
}

/**
 * Returns the parts of a request, in order. The server estimates the tokens of the whole request. These are divided
 * among the parts in proportion to their lengths.
 */
export function contextParts(context: Context): readonly ContextPart[] {
  const { instructions, messages, summary, estimated_tokens: estimated } = context
  const written = [
    ...(instructions === null ? [] : [{ kind: 'instructions' as const, name: 'instructions', text: instructions }]),
    ...messages.map((message, index) => {
      const isSummary = index === 0 && summary !== null
      const kind = isSummary ? ('summary' as const) : kindOf(message.role)
      return { kind, name: isSummary ? 'summary' : message.role, text: textOf(message) }
    }),
  ]
  const characters = written.reduce((sum, { text }) => sum + text.length, 0)
  return written.map((part) => ({
    ...part,
    tokens: characters === 0 ? 0 : Math.round((estimated * part.text.length) / characters),
  }))
}

const kindOf = (role: string): Kind => (role === 'assistant' || role === 'tool' ? role : 'user')

function textOf({ content, tool_calls: calls = [] }: ChatMessage): string {
  const said =
    typeof content === 'string' ? content : content === null || content === undefined ? '' : JSON.stringify(content)
  const made = calls.map(({ function: called }) => `${called.name}(${called.arguments})`)
  return [said, ...made].filter((text) => text !== '').join('\n')
}
