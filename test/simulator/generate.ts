import { createDice } from './dice.ts'
import type { Dice } from './dice.ts'
import type { Hazard } from './known.ts'
import type { CallKind, Fault, Input, Operation, Script } from './script.ts'

/** Most of what happens begins within so many milliseconds. */
const HORIZON_MS = 90_000
const KINDS: readonly CallKind[] = ['pay', 'pay', 'pay', 'read', 'read', 'ask', 'local', 'dump']

/** The script of a seed, with what the hazards allow. */
export function generate(seed: string, hazards: ReadonlySet<Hazard>): Script {
  const dice = createDice(`script ${seed}`)
  const horizon = HORIZON_MS * (0.1 + 0.9 * dice.next('horizon'))
  const sessions = Array.from({ length: 1 + dice.below('sessions', 4) }, (_, number) => ({
    tenant: `t${1 + (number % 2)}`,
    session: `session-${number + 1}`,
  }))
  const count = 2 + dice.below('operations', 7 * sessions.length)
  const operations = Array.from({ length: count }, (_, number) => operationOf(dice, hazards, number, horizon))
  const isCalm = dice.chance('calm', 0.15)
  const faults = Array.from({ length: isCalm ? 0 : 1 + dice.below('faults', 12) }, () =>
    faultOf(dice, hazards, horizon),
  )
  return {
    seed,
    servers: 1 + dice.below('servers', 3),
    sessions,
    operations: operations.toSorted((left, right) => left.at - right.at),
    faults: faults.flat().toSorted((left, right) => left.at - right.at),
    quietAt: horizon * 1.5,
  }
}

function operationOf(dice: Dice, hazards: ReadonlySet<Hazard>, number: number, horizon: number): Operation {
  const base = {
    at: Math.round(horizon * dice.next('at') ** 1.5),
    session: dice.below('which session', 12),
    server: dice.below('which server', 3),
  }
  const here = dice.chance('here', 0.6)
  const again = dice.chance('again', 0.3) ? { again: Math.round(10_000 * dice.next('again after')) } : {}
  const kind = number === 0 ? 0 : dice.below('operation', 20)
  if (kind < 8) {
    const onBusy = dice.pick('busy', ['queue', 'queue', 'steer', 'reject'] as const)
    const input = inputOf(dice, hazards, `i${number}`)
    return { ...base, type: 'submit', input, onBusy, here, retries: dice.below('retries', 4), ...again }
  }
  if (kind < 13) {
    const [allow, all] = [dice.chance('allow', 0.7), dice.chance('all', 0.6)]
    return { ...base, type: 'decide', allow, all, here, ...again }
  }
  if (kind < 15) return { ...base, type: 'continue', here }
  if (kind < 17) return { ...base, type: 'cancel' }
  return kind < 18 ? { ...base, type: 'delete' } : { ...base, type: 'follow' }
}

function inputOf(dice: Dice, hazards: ReadonlySet<Hazard>, name: string): Input {
  const rounds = Array.from({ length: dice.below('rounds', 5) }, () =>
    Array.from({ length: 1 + dice.below('calls', dice.chance('many calls', 0.1) ? 12 : 3) }, () =>
      dice.pick('kind', KINDS),
    ),
  )
  const ids = dice.pick('ids', ['fresh', 'fresh', 'missing', 'repeated'] as const)
  return { name, rounds, ids: ids === 'repeated' && !hazards.has('repeated call ids') ? 'fresh' : ids }
}

const CALLS = [
  'log.appendRound',
  'log.endRun',
  'log.pause',
  'log.repair',
  'log.beginApproved',
  'log.steer',
  'log.completeCall',
  'lease.start',
  'lease.take',
  'lease.claim',
  'lease.look',
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
/** What brings on the end of a process. */
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
/** What makes whoever does it die each time. */
const POISONS = ['tool', 'log.appendRound', 'reader.messages', 'sessions.read'] as const
/** What a result goes through. */
const RESULTS: readonly string[] = ['log.completeCall', 'outputs.put']

function faultOf(dice: Dice, hazards: ReadonlySet<Hazard>, horizon: number): readonly Fault[] {
  const at = Math.round(horizon * dice.next('fault at'))
  const server = dice.below('fault server', 3)
  const short = Math.round(20_000 * dice.next('short'))
  const long = Math.round(120_000 * dice.next('long') ** 2)
  const kind = dice.below('fault', 24)
  if (kind < 8) return requestFault(dice, hazards, at, short)
  if (kind < 9) {
    const call = dice.pick('outage', ['', 'lease.', 'log.', 'reader.', 'queue.', 'inbox.'])
    return hazards.has('failed results') || !'log.'.startsWith(call)
      ? [{ at, type: 'outage', call, milliseconds: long }]
      : []
  }
  if (kind < 12) {
    const how = dice.pick('strike', ['kill', 'kill', 'stop'] as const)
    const call = dice.pick('strikes', STRIKES)
    const after = dice.pick('strike after', [0, 0, 3, 15, 500])
    const milliseconds = how === 'kill' ? short : long
    return [{ at, type: 'strike', call, how, after, milliseconds, leavesRequests: dice.chance('leaves', 0.5) }]
  }
  if (dice.chance('poison', 0.03)) {
    const call = dice.pick('poisons', POISONS)
    if (call !== 'tool' && call !== 'log.appendRound' && !hazards.has('crashes while loading')) return []
    return [{ at, type: 'poison', session: dice.below('poisoned', 12), call, milliseconds: short }]
  }
  if (kind < 13) return [{ at, type: 'kill', server, milliseconds: short, leavesRequests: dice.chance('leaves', 0.5) }]
  if (kind < 15) return [{ at, type: 'stop', server, milliseconds: long }]
  if (kind < 16) return [{ at, type: 'restart', server, milliseconds: short }]
  if (kind < 17) return [{ at, type: 'clock', server, milliseconds: Math.round(8_000 * (dice.next('clock') - 0.5)) }]
  if (kind < 18)
    return [{ at, type: 'hint', how: dice.pick('hint', ['lost', 'doubled', 'late'] as const), milliseconds: long }]
  if (kind < 21) return modelFault(dice, hazards, at, long)
  const how = dice.pick('tool', ['throws', 'hangs', 'deaf', 'slow'] as const)
  return [{ at, type: 'tool', how, milliseconds: long }]
}

function requestFault(dice: Dice, hazards: ReadonlySet<Hazard>, at: number, milliseconds: number): readonly Fault[] {
  const call = dice.pick('call', CALLS)
  const how = dice.pick('how', ['refused', 'unknown', 'late', 'slow', 'silent', 'lost'] as const)
  if ((how === 'silent' || how === 'lost') && !hazards.has('silence')) return []
  if (RESULTS.includes(call) && (how === 'refused' || how === 'unknown') && !hazards.has('failed results')) return []
  if (call === 'log.appendRound' && how === 'unknown' && !hazards.has('unknown rounds')) return []
  return [{ at, type: 'request', call, how, milliseconds }]
}

function modelFault(dice: Dice, hazards: ReadonlySet<Hazard>, at: number, milliseconds: number): readonly Fault[] {
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
  if ((how === 'deaf' || how === 'unopened') && !hazards.has('deaf models')) return []
  if (how === 'cut off' && !hazards.has('cut off calls')) return []
  return [{ at, type: 'model', how, milliseconds }]
}
