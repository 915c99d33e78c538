import type { UserMessage } from '../../../../domain/messages/message.ts'
import { withMessages, type SessionMessages } from '../../../../domain/session-messages.ts'
import { LEASE_MS, type Lease, type SessionKey } from '../../../../domain/session.ts'
import type { Started } from '../../../../ports/run-lease.ts'
import { LeaseLost } from '../../../../domain/errors.ts'
import type { Run } from '../../../../domain/runs/run.ts'
import { flagAt, numberAt, textAt, type Item } from '../../attributes.ts'
import { together } from '../../expressions.ts'
import { activeAt, leased, wasReleased } from '../sessions/header-item.ts'
import type { HeaderWrite } from '../sessions/header-write.ts'
import { relist } from '../sessions/lists/list-entries.ts'
import { countMessages, lastMessageAt, replaceNumbers } from '../sessions/message-numbers.ts'
import { messageOf } from '../messages/message-item.ts'
import { runOf } from './run-item.ts'
import { rowsOfRun, type SessionRows } from '../sessions/session-rows.ts'

interface Start {
  readonly owner: string
  readonly now: number
  readonly runId: string
  /** The message made from the run's input. */
  readonly message: UserMessage | undefined
  /** Whether the run is the latest accepted one. Lists show the status of that run. */
  readonly isLatest: boolean
  /** For a run that replaces others: the counts and times of the messages that remain. */
  readonly left?: SessionMessages
}

/** Returns the header's changes at a run's start. */
export function headerAtStart(header: Item, { owner, now, runId, message, isLatest, left }: Start): HeaderWrite {
  const messages = message === undefined ? [] : [message]
  const numbers = left && withMessages(left, messages)
  const list = relist(header, {
    updatedAt: activeAt(header, now),
    lastMessageAt: numbers === undefined ? lastMessageAt(header, messages) : numbers.lastAt,
    ...(isLatest ? { runStatus: 'running' } : {}),
  })
  const change = together(
    leased(numberAt(header, 'gen') ?? 0, owner, now),
    {
      set: { active_run: runId, started: runId, head: message?.id, takeovers: 0, rounds: 0 },
      add: { runs: 1 },
      remove: ['floor', 'cancel_run', 'cancel_reason'],
    },
    numbers === undefined ? countMessages(messages) : replaceNumbers(numbers),
    list.change,
  )
  return { ...list, change }
}

/** Returns the lease that a holder has after the write of `headerAtStart`. */
export function leaseAtStart(key: SessionKey, header: Item, start: Start): Lease {
  return {
    tenant: key.tenant,
    session: key.session,
    generation: (numberAt(header, 'gen') ?? 0) + 1,
    owner: start.owner,
    runId: start.runId,
    until: start.now + LEASE_MS,
    head: start.message?.id ?? textAt(header, 'head'),
  }
}

/**
 * Returns this owner's lease if the header names this owner. In this case, the owner has started a run or acquired
 * the lease, and the store's response was lost.
 */
export function landedLease(key: SessionKey, header: Item | undefined, owner: string): Lease | undefined {
  const runId = header && textAt(header, 'active_run')
  if (header === undefined || runId === undefined || textAt(header, 'lease_owner') !== owner) return undefined
  return {
    tenant: key.tenant,
    session: key.session,
    generation: numberAt(header, 'gen') ?? 0,
    owner,
    runId,
    until: numberAt(header, 'lease_until') ?? 0,
    head: textAt(header, 'head'),
  }
}

/** Reads a started run and its first message. Call it if the response to the start was lost. */
export async function landedStart(rows: SessionRows, lease: Lease, header: Item, item: Item): Promise<Started> {
  const run = await runOf(rows.bodies, lease, item, header)
  const [first] = await rowsOfRun(rows, lease, item)
  if (first === undefined || textAt(first, 'role') !== 'user') return { lease, run }
  const message = await messageOf(rows.bodies, lease, first)
  return message.role === 'user' ? { lease, run, message } : { lease, run }
}

/**
 * Returns the run that this holder has paused, if the response to the pause was lost. Throws `LeaseLost` if the holder
 * has not paused it, or if the run has changed since.
 */
export function landedPause(
  { bodies }: SessionRows,
  lease: Lease,
  { header, run }: { readonly header: Item | undefined; readonly run: Item },
): Promise<Run> {
  const isPaused = wasReleased(header, lease) && flagAt(header, 'paused') && textAt(header, 'cancel_run') === undefined
  if (isPaused) return runOf(bodies, lease, run, header)
  throw new LeaseLost(lease.session, lease.generation)
}
