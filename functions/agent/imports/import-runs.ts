import { definedFields } from '../../domain/defined-fields.ts'
import type { ClosedMessage } from '../../domain/messages/closed-message.ts'
import { latestId, nextId } from '../../domain/ids.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { Message } from '../../domain/messages/message.ts'
import type { Run } from '../../domain/runs/run.ts'
import type { Session, SessionHeader } from '../../domain/session.ts'
import { NO_USAGE } from '../../domain/usage/usage.ts'
import type { BegunTurn } from './import-rounds.ts'
import { isInput, type PlacedMessage } from './closed-turns.ts'

/** The session and source of an import's runs. */
interface Origin {
  readonly session: Session
  readonly source: string | undefined
}

/** The runs of a step, by the number of their turn. */
export type Touched = ReadonlyMap<number, { readonly run: Run; readonly isNew: boolean }>

/** Builds the runs of these messages with their times. Their ids are greater than all ids in the session. */
export function runsOf(
  origin: Origin,
  { tail, head }: Pick<SessionHeader, 'tail' | 'head'>,
  begun: BegunTurn | undefined,
  batch: readonly PlacedMessage[],
  now: number,
): Touched {
  const touched = new Map<number, { run: Run; isNew: boolean }>()
  let last = latestId([tail, head, begun?.run?.id])
  for (const { message, turn } of batch) {
    const at = message.createdAt ?? now
    const former = begun?.turn === turn ? begun.run : undefined
    const known = touched.get(turn) ?? (former && { run: former, isNew: false })
    const before = known ?? { run: newRun(origin, (last = nextId(last, now)), message, at), isNew: true }
    const endedAt = Math.max(before.run.endedAt ?? at, message.role === 'tool' ? (message.completedAt ?? at) : at)
    touched.set(turn, { ...before, run: { ...before.run, endedAt } })
  }
  return touched
}

/**
 * Returns the greatest of the log's head and the runs' ids. All messages of these runs must have greater ids. The next writer
 * compares its ids only with the head, so the new head must also exceed the runs' ids.
 */
export const lastIdOf = (touched: Touched, head: string | undefined): string | undefined =>
  latestId([head, ...[...touched.values()].map(({ run }) => run.id)])

/** Adds the rounds of these messages to their runs. */
export function countRounds(touched: Touched, messages: readonly Message[]): Touched {
  const rounds = new Map<string, number>()
  for (const message of messages)
    if (message.role === 'assistant' && isLeaders(message)) rounds.set(message.runId, message.round + 1)
  return new Map(
    [...touched].map(([turn, { run, isNew }]) => {
      const counted = { ...run, rounds: Math.max(run.rounds, rounds.get(run.id) ?? 0) }
      return [turn, { run: counted, isNew }]
    }),
  )
}

const newRun = ({ session, source }: Origin, id: string, first: ClosedMessage, at: number): Run => ({
  id,
  agent: session.agent,
  status: 'completed',
  trigger: isInput(first) ? 'input' : 'continue',
  onBusy: 'queue',
  clientTools: [],
  createdAt: at,
  startedAt: at,
  endedAt: at,
  rounds: 0,
  usage: NO_USAGE,
  usageByAgent: {},
  stopReason: 'imported',
  ...definedFields({ source, original: first.supersededBy === undefined ? undefined : first.run }),
})
