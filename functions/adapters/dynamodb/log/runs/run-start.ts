import { LEASE_MS, type Lease, type SessionKey } from '../../../../domain/session.ts'
import type { Started } from '../../../../ports/run-lease.ts'
import { numberAt, textAt, type Item } from '../../attributes.ts'
import { together, type Change } from '../../expressions.ts'
import { active, leased } from '../sessions/header-item.ts'
import { messageOf } from '../messages/message-item.ts'
import { runOf } from './run-item.ts'
import { rowsOfRun, type SessionRows } from '../sessions/session-rows.ts'

interface Start {
  readonly owner: string
  readonly now: number
  readonly runId: string
  /** The id of the message that its input becomes. */
  readonly messageId: string | undefined
}

/** The header at a run's start. */
export function headerAtStart(header: Item, { owner, now, runId, messageId }: Start): Change {
  return together(leased(numberAt(header, 'gen') ?? 0, owner, now), active(header, now), {
    set: { active_run: runId, started: runId, head: messageId, takeovers: 0, rounds: 0 },
    add: { runs: 1 },
    remove: ['floor', 'cancel_run', 'cancel_reason'],
  })
}

/** The lease that `headerAtStart` gives. */
export function leaseAtStart(key: SessionKey, header: Item, start: Start): Lease {
  return {
    tenant: key.tenant,
    session: key.session,
    generation: (numberAt(header, 'gen') ?? 0) + 1,
    owner: start.owner,
    runId: start.runId,
    until: start.now + LEASE_MS,
    head: start.messageId ?? textAt(header, 'head'),
  }
}

/** The lease of this owner, when the header shows that its start or take has landed. */
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

/** A start that has landed, read back. */
export async function landedStart(rows: SessionRows, lease: Lease, header: Item, item: Item): Promise<Started> {
  const run = await runOf(rows.bodies, lease, item, header)
  const [first] = await rowsOfRun(rows, lease, item)
  if (first === undefined || textAt(first, 'role') !== 'user') return { lease, run }
  const message = await messageOf(rows.bodies, lease, first)
  return message.role === 'user' ? { lease, run, message } : { lease, run }
}
