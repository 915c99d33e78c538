import type { Guard } from './guards.ts'

const one = (name: string, file: string, from: string, to: string): Guard => ({ name, edits: [{ file, from, to }] })

const DRIVER = '../../../delivery/driver.ts'
const CLAIM = '../../../delivery/claim.ts'
const SWEEP = '../../../delivery/due-deliveries.ts'
const DUE = '../../../delivery/due-of-session.ts'

/**
 * Guards of deliveries: conditions in the outbox and in the delivery driver. Each has the source text that removes it.
 */
export const DELIVERY_GUARDS: readonly Guard[] = [
  one(
    'delivery, accept: the delivery is stored with its run',
    'runs/run-inbox.ts',
    '    if (newRun.delivery !== undefined)\n',
    "    if (newRun.delivery !== undefined && run.id === '')\n",
  ),
  one('delivery, accept: a delivery is due', '../../../domain/delivery.ts', 'due: now + DELIVERY_POLL_MS', 'due: 8e15'),
  one(
    'delivery, change: no other process has changed it',
    'deliveries/outbox.ts',
    'AND id = ? AND mark = ?',
    'AND id = ? AND (mark = ? OR 1)',
  ),
  one(
    'delivery, change: sets another mark',
    'deliveries/outbox.ts',
    'mark: randomUUID() }\n  const sql',
    'mark: seen.mark }\n  const sql',
  ),
  one(
    'delivery, add: the session is live',
    'deliveries/outbox.ts',
    'import { findLiveSession } from',
    'import { findSession as findLiveSession } from',
  ),
  one(
    'delivery, add: once',
    'deliveries/delivery-rows.ts',
    'ON CONFLICT (session, id) DO NOTHING',
    'ON CONFLICT (session, id) DO UPDATE SET body = excluded.body',
  ),
  one(
    "delivery, claim: another process's claim is respected",
    DRIVER,
    'if (isUnclaimed(delivery, clock.now())) return { found: delivery }',
    'return { found: delivery }',
  ),
  one(
    'delivery, claim: expires',
    CLAIM,
    '{ owner: randomUUID(), due: until, hinted: null, begun }',
    '{ owner: randomUUID(), due: 8e15, hinted: null, begun }',
  ),
  one(
    'delivery, claim: its former holder is refused',
    CLAIM,
    '        lost.abort()\n        throw new ClaimLost(`delivery ${delivery.id} was taken',
    '        return\n        throw new ClaimLost(`delivery ${delivery.id} was taken',
  ),
  one(
    'delivery, claim: a released claim is not renewed',
    CLAIM,
    'lost.signal.aborted || delivery.owner === undefined',
    'lost.signal.aborted',
  ),
  one(
    'delivery, claim: is released with its outcome',
    DRIVER,
    'await claim.change({ ...kept, owner: null, status',
    'await claim.change({ ...kept, status',
  ),
  one(
    'delivery, claim: expires when a store took as long',
    CLAIM,
    'if (to.due === undefined && clock.now() > until - LEASE_MARGIN_MS)',
    "if (delivery.id === '')",
  ),
  one('delivery, settle: a retry has a time', DRIVER, 'due: end.retryAt })', 'due: 8e15 })'),
  one('delivery, settle: an ended delivery is not due', DRIVER, 'status: end.status, due: null', 'status: end.status'),
  one(
    'delivery, hint: a marked delivery is claimed',
    DUE,
    'hinted === true || due <= clock.now()',
    'hinted === null || due <= clock.now()',
  ),
  one('delivery, sweep: marks a hinted delivery', SWEEP, '{ owner: null, hinted: true, due', '{ owner: null, due'),
  one(
    'delivery, sweep: postpones a hinted delivery',
    SWEEP,
    'hinted: true, due: clock.now() + HINTED_MS',
    'hinted: true, due: 8e15',
  ),
  one(
    'delivery, sweep: skips deliveries that are not due',
    SWEEP,
    'if (delivery === undefined || (delivery.due ?? Infinity) > clock.now()) return false',
    'if (delivery === undefined) return false',
  ),
  {
    name: 'delivery, events: a delivery begins with those of its run',
    edits: [
      {
        file: DRIVER,
        from: "return (begins === 'start' ? isStart : begins === 'end' && isTerminal(event)) ? event.run : undefined",
        to: 'return begins === undefined ? event.run : undefined',
      },
    ],
    backedBy: 'delivery, accept: a delivery is due',
  },
  one('delivery, run: is not delivered before it starts', DRIVER, " || run.status === 'queued'", ''),
]
