import { fc } from './seeded.ts'
import { settledLog } from './logs.ts'
import { isLeaders } from '../../functions/domain/messages/message.ts'
import type { AssistantMessage, Message, StoredSource, ToolMessage } from '../../functions/domain/messages/message.ts'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import { highestOf, numberSources, recordedNumbers } from '../../functions/log/sources.ts'

/** Maximum number of decorated messages of a log. Generated logs are shorter. */
const DICE = 80

/** Settled logs whose results have sources and media, and whose completions have citations, source numbers and usage. */
export const decoratedLog: fc.Arbitrary<Message[]> = fc
  .tuple(settledLog, fc.array(fc.nat({ max: 11 }), { minLength: DICE, maxLength: DICE }))
  .map(([log, dice]) => {
    const decorated: Message[] = []
    for (const [place, message] of log.entries()) {
      const rolled = dice[place % DICE] ?? 0
      if (message.role === 'tool') decorated.push(withResults(message, rolled))
      else if (message.role === 'assistant' && isLeaders(message))
        decorated.push(completing(message, decorated, rolled))
      else decorated.push(message)
    }
    return decorated
  })

function withResults(row: ToolMessage, rolled: number): ToolMessage {
  if (row.status !== 'completed') return row
  const sources = Array.from({ length: rolled % 3 }, (_, place): StoredSource => ({
    title: `source ${place} of ${row.id}`,
    ...(place === 0 ? { text: 'some words '.repeat(rolled) } : { url: 'https://a.example/' }),
  }))
  const media = { type: 'image', id: `of ${row.id}`, mediaType: 'image/png', bytes: 3 } as const
  return {
    ...row,
    parts: rolled > 8 ? [...row.parts, media] : row.parts,
    ...(sources.length === 0 ? {} : { sources }),
  }
}

/**
 * Like the loop, adds to a completion the source numbers that its request assigned. Some completions also get a citation or
 * usage.
 */
function completing(message: AssistantMessage, before: readonly Message[], rolled: number): AssistantMessage {
  const leaders = before.filter(isLeaders)
  const known = recordedNumbers(leaders)
  const highest = highestOf(leaders.flatMap((one) => (one.role === 'assistant' ? (one.numbered ?? []) : [])))
  const numbered = numberSources(leaders, known, highest)
  const isFinal = message.toolCalls.length === 0 && message.parts.some((part) => part.type === 'text')
  const cites = { type: 'text', text: ` as [source${rolled}] says` } as const
  return {
    ...message,
    parts: isFinal && rolled % 2 === 0 ? [...message.parts, cites] : message.parts,
    ...(numbered.length === 0 ? {} : { numbered }),
    ...(rolled === 7 ? { usage: { ...NO_USAGE, inputTokens: 400 } } : {}),
  }
}
