import { textOf } from '../../../domain/messages/message.ts'
import type { Message } from '../../../domain/messages/message.ts'
import type { RunEnd } from '../../../domain/runs/run-changes.ts'
import type { NumberedSources } from '../../../domain/messages/source.ts'
import { hasSources, highestOf } from '../../../log/sources.ts'
import { groupTurns } from '../../../log/turns.ts'
import type { RunState } from '../run-state.ts'

/** Messages in one page. */
const PAGE = 200

/**
 * Decides about citations at the end of a completed run, under the policy `cited`. The decision is stored with the end.
 * Returns an empty object if the turn has no sources and its final completion cites none.
 */
export async function citationsAtEnd(
  state: RunState,
  { message, context: decided = state.context.decided }: Pick<RunEnd, 'message' | 'context'>,
): Promise<Pick<RunEnd, 'context'>> {
  const text = message === undefined ? '' : textOf(message.parts)
  const ofTurn = await sourcesOfTurn(state, message?.numbered ?? [])
  if (ofTurn.length === 0 && !text.includes('[')) return {}
  const { citationsAfter } = await import('../../../log/citations.ts')
  const numbers = ofTurn.flatMap(({ from, count }) => Array.from({ length: count }, (_, place) => from + place))
  const highest = Math.max(highestOf(ofTurn), await highestRecorded(state))
  const citations = citationsAfter(text, numbers, highest, decided.citations)
  return citations === undefined ? {} : { context: { ...decided, citations } }
}

async function highestRecorded({ sources, reads, writer }: RunState): Promise<number> {
  if (sources.recorded !== undefined) return sources.recorded
  const { numbered } = await reads.reader.sources(writer.key, { order: 'descending', limit: 1 })
  return highestOf(numbered)
}

/** The numbers of a turn's sources, including those of team members and of earlier runs that this run continues. */
async function sourcesOfTurn(state: RunState, last: readonly NumberedSources[]): Promise<NumberedSources[]> {
  const { leader, context } = state
  const turn =
    groupTurns(leader.messages, context.decided.cut).findLast((one) =>
      one.some(({ runId }) => runId === leader.runId),
    ) ?? []
  const runs = new Set([leader.runId, ...turn.map(({ runId }) => runId)])
  const own = leader.messages.filter(({ runId }) => runs.has(runId))
  const results = new Set(own.filter(hasSources).map(({ id }) => id))
  const numbered = [...own.flatMap(numberedBy), ...last].filter(({ message }) => results.has(message))
  const delegated = own.some((message) => message.role === 'tool' && message.toolName === 'delegate_task_to_member')
  return delegated ? [...numbered, ...(await sourcesOfMembers(state, runs))] : numbered
}

const numberedBy = (message: Message): readonly NumberedSources[] =>
  message.role === 'assistant' ? (message.numbered ?? []) : []

async function sourcesOfMembers({ reads, writer }: RunState, runs: ReadonlySet<string>): Promise<NumberedSources[]> {
  const found: NumberedSources[] = []
  for (const run of runs)
    for (let after = ''; ;) {
      const query = { run, roles: ['assistant'], order: 'ascending', limit: PAGE, after } as const
      const page = await reads.reader.messages(writer.key, query)
      for (const message of page.messages)
        if (message.parentToolCallId !== undefined) found.push(...numberedBy(message))
      after = page.messages.at(-1)?.id ?? after
      if (!page.more) break
    }
  return found
}
