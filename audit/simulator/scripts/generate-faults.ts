import type { Dice } from './dice.ts'
import type { Fault } from './script.ts'

const CALLS = [
  'log.appendRound',
  'log.append',
  'log.endRun',
  'log.pause',
  'log.repair',
  'log.beginApproved',
  'log.steer',
  'log.completeCall',
  'lease.start',
  'lease.take',
  'lease.claim',
  'lease.readHeader',
  'lease.heartbeat',
  'lease.release',
  'reader.',
  'sessions.read',
  'inbox.enqueue',
  'inbox.resolve',
  'inbox.cancel',
  'deletion.',
  'janitor.',
  'outputs.put',
  'outputs.removeAll',
  'queue.send',
] as const
/** Requests at which a `strike` fault can end the process that sends them. */
const STRIKES = [
  'tool',
  'tool',
  'tool',
  'log.',
  'log.appendRound',
  'log.completeCall',
  'log.beginApproved',
  'log.endRun',
  'lease.take',
  'lease.claim',
  'lease.heartbeat',
  'inbox.',
  'deletion.',
  'outputs.put',
] as const
/** Requests at which a fatal fault kills every process that sends them. */
const FATAL_CALLS = ['tool', 'log.appendRound', 'reader.messages', 'sessions.read'] as const

/** Draws a fault that happens once, at most `horizon` milliseconds after the beginning. */
export function faultOf(dice: Dice, horizon: number): readonly Fault[] {
  const at = Math.round(horizon * dice.next('fault at'))
  const server = dice.below('fault server', 3)
  const short = Math.round(20_000 * dice.next('short'))
  const long = Math.round(120_000 * dice.next('long') ** 2)
  const kind = dice.below('fault', 24)
  if (kind < 8) return requestFault(dice, at, short)
  if (kind < 9) {
    const call = dice.pick('outage', ['', 'lease.', 'log.', 'reader.', 'queue.', 'inbox.'])
    return [{ at, type: 'outage', call, milliseconds: long }]
  }
  if (kind < 12) {
    const hurt = dice.pick('strike', ['kill', 'kill', 'stop'] as const)
    const how = dice.chance('strike restarts', 0.2) ? 'restart' : hurt
    const call = dice.pick('strikes', STRIKES)
    const after = dice.pick('strike after', [0, 0, 3, 15, 500])
    const milliseconds = hurt === 'kill' ? short : long
    return [{ at, type: 'strike', call, how, after, milliseconds, leavesRequests: dice.chance('leaves', 0.5) }]
  }
  if (dice.chance('poison', 0.03)) {
    const call = dice.pick('poisons', FATAL_CALLS)
    return [{ at, type: 'poison', session: dice.below('poisoned', 12), call, milliseconds: short }]
  }
  if (kind < 13) return [{ at, type: 'kill', server, milliseconds: short, leavesRequests: dice.chance('leaves', 0.5) }]
  if (kind < 15) return [{ at, type: 'stop', server, milliseconds: long }]
  if (kind < 16) return [{ at, type: 'restart', server, milliseconds: short }]
  if (kind < 17) return [{ at, type: 'clock', server, milliseconds: Math.round(8_000 * (dice.next('clock') - 0.5)) }]
  if (kind < 18)
    return [{ at, type: 'hint', how: dice.pick('hint', ['lost', 'doubled', 'late'] as const), milliseconds: long }]
  if (kind < 21) return modelFault(dice, at, long)
  const how = dice.pick('tool', ['throws', 'hangs', 'deaf', 'slow'] as const)
  return [{ at, type: 'tool', how, milliseconds: long }]
}

function requestFault(dice: Dice, at: number, milliseconds: number): readonly Fault[] {
  const call = dice.pick('call', CALLS)
  const how = dice.pick('how', ['refused', 'unknown', 'late', 'slow', 'silent', 'lost'] as const)
  return [{ at, type: 'request', call, how, milliseconds }]
}

/** Draws faults of the requests that update an index from the log. */
export function indexFaults(dice: Dice, horizon: number): (readonly Fault[])[] {
  return Array.from({ length: dice.below('index faults', 4) }, (): readonly Fault[] => {
    const call = dice.pick('index call', ['index.write', 'index.write', 'index.write', 'outputs.read', 'index.search'])
    const how = dice.pick('index how', ['refused', 'unknown', 'late', 'slow', 'silent', 'lost'] as const)
    const at = Math.round(horizon * dice.next('index at'))
    return [{ at, type: 'request', call, how, milliseconds: Math.round(30_000 * dice.next('index late')) }]
  })
}

/** Draws faults of requests from outside the runs. */
export function outsideFaults(dice: Dice, horizon: number): (readonly Fault[])[] {
  const calls = ['imports.append', 'imports.', 'sessions.recordSummary', 'sessions.', 'feedback.', 'log.recordDecision']
  return Array.from({ length: dice.below('outside faults', 5) }, (): readonly Fault[] => {
    const at = Math.round(horizon * dice.next('outside fault at'))
    const milliseconds = Math.round(30_000 * dice.next('outside late'))
    const call = dice.pick('outside call', calls)
    if (dice.chance('outside strike', 0.4)) {
      const how = dice.pick('outside hurt', ['kill', 'kill', 'stop', 'restart'] as const)
      const after = dice.pick('outside after', [0, 0, 3, 15, 500])
      const longer = how === 'stop' ? 3 * milliseconds : milliseconds
      return [
        {
          at,
          type: 'strike',
          call,
          how,
          after,
          milliseconds: longer,
          leavesRequests: dice.chance('outside leaves', 0.5),
        },
      ]
    }
    const how = dice.pick('outside how', ['refused', 'unknown', 'late', 'slow', 'silent', 'lost'] as const)
    return [{ at, type: 'request', call, how, milliseconds }]
  })
}

/** Draws faults of delivery workers, and of the messages that the workers send. */
export function deliveryFaults(dice: Dice, horizon: number): (readonly Fault[])[] {
  return Array.from({ length: dice.below('delivery faults', 8) }, (): readonly Fault[] => {
    const at = Math.round(horizon * dice.next('delivery at'))
    const milliseconds = Math.round(20_000 * dice.next('delivery late'))
    const kind = dice.below('delivery fault', 8)
    if (kind < 4) {
      const how = dice.pick('receiver', ['busy', 'silent', 'silent', 'lost', 'late'] as const)
      return [{ at, type: 'receiver', how, milliseconds }]
    }
    if (kind < 6) {
      const how = dice.pick('delivery how', ['refused', 'unknown', 'late', 'slow', 'silent', 'lost'] as const)
      return [{ at, type: 'request', call: 'outbox.', how, milliseconds }]
    }
    const how = dice.pick('delivery strike', ['kill', 'kill', 'stop', 'restart'] as const)
    const call = dice.pick('delivery strikes', ['receiver', 'outbox.change', 'outbox.add'] as const)
    const after = dice.pick('delivery strike after', [0, 0, 3, 15, 500])
    const longer = how === 'stop' ? 5 * milliseconds : milliseconds
    const leavesRequests = dice.chance('delivery leaves', 0.5)
    return [{ at, type: 'strike', call, how, after, milliseconds: longer, leavesRequests }]
  })
}

function modelFault(dice: Dice, at: number, milliseconds: number): readonly Fault[] {
  const how = dice.pick('model', [
    'fails',
    'fails',
    'refuses',
    'breaks off',
    'silent',
    'empty',
    'slow',
    'deaf',
    'unopened',
    'cut off',
  ] as const)
  return [{ at, type: 'model', how, milliseconds }]
}
