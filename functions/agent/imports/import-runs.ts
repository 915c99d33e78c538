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

/** Where runs of an import come from. */
interface Origin {
  readonly session: Session
  readonly source: string | undefined
}

/** By the number of their turn. */
export type Touched = ReadonlyMap<number, { readonly run: Run; readonly isNew: boolean }>

/** The runs of these messages with their times. Ids are greater than all that the session has seen. */
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

/** An id that a message of these runs must be greater than: whoever comes next knows the log's head, and not the runs. */
export const lastIdOf = (touched: Touched, head: string | undefined): string | undefined =>
  latestId([head, ...[...touched.values()].map(({ run }) => run.id)])

/** The runs with the rounds that these messages add. */
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
  ...definedFields({ source }),
})
