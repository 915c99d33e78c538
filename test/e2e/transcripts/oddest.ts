import type { Conversation } from './recorded.ts'
import { oddKinds } from './recorded.ts'

/**
 * Selects at least `count` conversations, short ones first. They include `ofAKind` conversations of every odd kind, if that many
 * exist.
 */
export function oddest(conversations: readonly Conversation[], count: number, ofAKind = 3): Conversation[] {
  const having = new Map<string, Conversation[]>()
  for (const conversation of conversations.toSorted((left, right) => left.messages.length - right.messages.length))
    for (const kind of oddKinds(conversation)) having.set(kind, [...(having.get(kind) ?? []), conversation])
  const chosen = new Set<Conversation>()
  for (const [, found] of having) for (const conversation of found.slice(0, ofAKind)) chosen.add(conversation)
  const short = conversations.toSorted((left, right) => left.messages.length - right.messages.length)
  for (const conversation of short) if (chosen.size < count) chosen.add(conversation)
  return conversations.filter((conversation) => chosen.has(conversation))
}
