import type { Consolidation } from '../../../functions/domain/agent.ts'
import { createDice } from './dice.ts'
import type { Dice } from './dice.ts'
import { deliveryFaults, faultOf, indexFaults, outsideFaults } from './generate-faults.ts'
import { outsideOf } from './generate-outside.ts'
import type { CallKind, Fault, Input, Operation, Script, ScriptSession } from './script.ts'

/** Most operations begin within this time, in milliseconds. */
const HORIZON_MS = 90_000
const KINDS: readonly CallKind[] = ['pay', 'pay', 'pay', 'read', 'read', 'ask', 'local', 'dump']

/** Generates the script of a seed. */
export function generate(seed: string): Script {
  const dice = createDice(`script ${seed}`)
  const horizon = HORIZON_MS * (0.1 + 0.9 * dice.next('horizon'))
  const sessions = Array.from({ length: 1 + dice.below('sessions', 4) }, (_, number): ScriptSession => ({
    tenant: `t${1 + (number % 2)}`,
    session: `session-${number + 1}`,
    expires: dice.chance('expires', 0.25),
  }))
  if (dice.chance('backlog', 0.06)) return withBacklog(dice, seed, horizon, sessions)
  const count = 2 + dice.below('operations', 7 * sessions.length)
  const consolidates = dice.chance('consolidates', 0.25)
  const hasOutside = dice.chance('outside', 0.2)
  const operations = [
    ...Array.from({ length: count }, (_, number) => operationOf(dice, number, horizon)),
    ...(consolidates ? chatOf(dice, horizon) : []),
    ...(dice.chance('asks', 0.15) ? asksOf(dice, horizon) : []),
    ...(hasOutside ? outsideOf(dice, horizon) : []),
    ...(dice.chance('followed', 0.5) ? followsOf(dice, horizon) : []),
  ]
  const isCalm = dice.chance('calm', 0.15)
  const faults = Array.from({ length: isCalm ? 0 : 1 + dice.below('faults', 12) }, () => faultOf(dice, horizon))
  if (dice.chance('sleeps', 0.06))
    faults.push([{ at: Math.round(horizon * dice.next('sleep at')), type: 'sleep', milliseconds: 2 * 86_400_000 }])
  const delivers = dice.chance('delivers', 0.3)
  if (delivers && !isCalm) faults.push(...deliveryFaults(dice, horizon))
  if (hasOutside && !isCalm) faults.push(...outsideFaults(dice, horizon))
  const functions = dice.chance('functions', 0.2)
  if (functions && !isCalm) faults.push(...indexFaults(dice, horizon))
  return {
    seed,
    servers: 1 + dice.below('servers', 3),
    ...(dice.chance('locks', 0.4) ? { locks: true } : {}),
    functions,
    sessions,
    ...(consolidates ? { consolidation: consolidationOf(dice) } : {}),
    ...(delivers ? { delivers } : {}),
    operations: (delivers ? operations.map((one) => owing(dice, one)) : operations).toSorted(
      (left, right) => left.at - right.at,
    ),
    faults: faults.flat().toSorted((left, right) => left.at - right.at),
    quietAt: horizon * 1.5,
  }
}

/** Draws clients that follow runs, disconnect and resume. */
const followsOf = (dice: Dice, horizon: number): Operation[] =>
  Array.from({ length: 1 + dice.below('followers', 6) }, () => ({
    at: Math.round(horizon * dice.next('follower at')),
    session: dice.below('follower session', 12),
    server: dice.below('follower server', 3),
    type: 'follow',
  }))

const consolidationOf = (dice: Dice): Consolidation => ({
  threshold: 1 + dice.below('threshold', 5),
  keepRecentRatio: dice.next('kept') * 0.9,
})

/** Draws short turns of one session. There are enough turns for several summaries. */
function chatOf(dice: Dice, horizon: number): Operation[] {
  const session = dice.below('chat session', 12)
  return Array.from({ length: 5 + dice.below('chats', 12) }, (_, number): Operation => {
    const rounds = dice.chance('chat calls', 0.25) ? [[dice.pick('chat kind', KINDS)]] : []
    return {
      at: Math.round(horizon * dice.next('chat at')),
      session,
      server: dice.below('chat server', 3),
      type: 'submit',
      input: { name: `i${100 + number}`, rounds, ids: 'fresh' },
      onBusy: dice.pick('chat busy', ['queue', 'queue', 'queue', 'steer'] as const),
      here: dice.chance('chat here', 0.6),
      retries: 2,
    }
  })
}

/**
 * Draws a run in which every round waits for people or clients. All rounds use equal call ids. The people repeat their
 * decisions.
 */
function asksOf(dice: Dice, horizon: number): Operation[] {
  const base = { session: dice.below('asks session', 12), server: dice.below('asks server', 3), here: true }
  const begins = Math.round(0.7 * horizon * dice.next('asks at'))
  const rounds = Array.from({ length: 2 + dice.below('asks', 4) }, (): readonly CallKind[] => [
    dice.pick('asked', ['ask', 'ask', 'local'] as const),
    ...(dice.chance('asked with others', 0.3) ? [dice.pick('asked with', KINDS)] : []),
  ])
  const input: Input = { name: 'i200', rounds, ids: 'repeated' }
  const asked: Operation = { ...base, at: begins, type: 'submit', input, onBusy: 'queue', retries: 2 }
  const decided = Array.from({ length: 2 * rounds.length }, (_, number): Operation => {
    const at = Math.round(begins + 4_000 * (number + dice.next('decided at')))
    const allow = dice.chance('decided', 0.8)
    const byId = dice.chance('decided by id', 0.7) ? { byId: true } : {}
    const again = dice.chance('decided again', 0.7) ? { again: Math.round(20_000 * dice.next('decided after')) } : {}
    return { ...base, at, type: 'decide', allow, all: true, ...byId, ...again }
  })
  return [asked, ...decided]
}

/**
 * Adds many sessions of a few tenants. Dead processes left these sessions unfinished. Some of these sessions cannot be
 * deleted for a while.
 */
function withBacklog(dice: Dice, seed: string, horizon: number, sessions: readonly ScriptSession[]): Script {
  const states = ['running', 'queued', 'deleted', 'expired'] as const
  const most = dice.pick('most left', states)
  const left = Array.from({ length: 20 + dice.below('left', 200) }, (_, number): ScriptSession => {
    const state = dice.chance('left as most', 0.6) ? most : dice.pick('left', states)
    const tenant = `t${dice.chance('left tenant', 0.8) ? 1 : 2 + dice.below('left tenants', 4)}`
    return { tenant, session: `left-${number + 1}`, left: state, expires: state === 'expired' }
  })
  const stuck = (['deleted', 'expired'] as const).flatMap((state): Fault[] =>
    dice.chance('stuck', 0.6)
      ? [{ at: 0, type: 'stuck', left: state, how: dice.pick('stuck', ['refused', 'silent']) }]
      : [],
  )
  const hints = Array.from({ length: dice.below('lost hints', 8) }, (): Fault => ({
    at: Math.round(horizon * dice.next('hint at')),
    type: 'hint',
    how: 'lost',
    milliseconds: 0,
  }))
  const others = dice.chance('others', 0.3) ? faultOf(dice, horizon) : []
  const count = 2 + dice.below('operations', 20)
  const operations = Array.from({ length: count }, (_, number) => operationOf(dice, number, horizon))
  return {
    seed,
    servers: 1 + dice.below('servers', 3),
    functions: dice.chance('functions', 0.2),
    sessions: [...sessions, ...left],
    operations: operations.toSorted((before, after) => before.at - after.at),
    faults: [...stuck, ...hints, ...others].toSorted((before, after) => before.at - after.at),
    quietAt: horizon * 1.5 + 60_000,
  }
}

function operationOf(dice: Dice, number: number, horizon: number): Operation {
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
    const input = inputOf(dice, `i${number}`)
    return { ...base, type: 'submit', input, onBusy, here, retries: dice.below('retries', 4), ...again }
  }
  if (kind < 13) {
    const [allow, all] = [dice.chance('allow', 0.7), dice.chance('all', 0.6)]
    const byId = dice.chance('by id', 0.4) ? { byId: true } : {}
    return { ...base, type: 'decide', allow, all, here, ...byId, ...again }
  }
  if (kind < 15) {
    const repeated = { key: `c${number}`, again: Math.round(20_000 * dice.next('continued after')) }
    return { ...base, type: 'continue', here, ...(dice.chance('continued again', 0.5) ? { repeated } : {}) }
  }
  if (kind < 17) return { ...base, type: 'cancel' }
  return kind < 18 ? { ...base, type: 'delete' } : { ...base, type: 'follow' }
}

function inputOf(dice: Dice, name: string): Input {
  const rounds = Array.from({ length: dice.below('rounds', dice.chance('many rounds', 0.1) ? 10 : 5) }, () =>
    Array.from({ length: 1 + dice.below('calls', dice.chance('many calls', 0.1) ? 12 : 3) }, () =>
      dice.pick('kind', KINDS),
    ),
  )
  const ids = dice.pick('ids', ['fresh', 'fresh', 'missing', 'repeated'] as const)
  const input: Input = { name, rounds, ids, ...(dice.chance('disobeys', 0.3) ? { disobeys: true } : {}) }
  return dice.chance('team', 0.25) ? withTeam(dice, input, DEPTH) : input
}

/** Maximum depth of nested members. */
const DEPTH = 3

/** Adds members to at least one round of the input. A round has up to three members, which work at the same time. */
function withTeam(dice: Dice, input: Input, depth: number): Input {
  const called = (calls: readonly CallKind[]): readonly CallKind[] => [
    ...calls.slice(0, 2),
    ...Array.from({ length: 1 + dice.below('members', depth) }, (): CallKind => 'team'),
  ]
  const rounds = input.rounds.map((calls) => (dice.chance('round of a team', 0.4) ? called(calls) : calls))
  const own = Array.from({ length: dice.below('rounds of members', 4) }, () =>
    Array.from({ length: 1 + dice.below('calls of members', 2) }, () => dice.pick('kind of members', KINDS)),
  )
  const member: Input = { name: `${input.name}-m`, rounds: own, ids: input.ids }
  const continues = depth > 1 && dice.chance('deeper', 0.4)
  return { ...input, rounds: [called([]), ...rounds], team: continues ? withTeam(dice, member, depth - 1) : member }
}

/** Adds a delivery to the operation. Some operations get none. */
const owing = (dice: Dice, operation: Operation): Operation =>
  operation.type === 'submit' && dice.chance('owes', 0.8)
    ? { ...operation, owes: dice.pick('owed', ['callback', 'reply'] as const) }
    : operation
