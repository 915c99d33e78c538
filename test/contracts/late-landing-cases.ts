import { latestId, nextId, nextIds } from '../../functions/domain/ids.ts'
import { NO_USAGE } from '../../functions/domain/usage/usage.ts'
import { LEASE_MS } from '../../functions/domain/session.ts'
import type { Lease } from '../../functions/domain/session.ts'
import type { Started } from '../../functions/ports/run-lease.ts'
import {
  approvalOf,
  callOf,
  endAfter,
  header,
  headOf,
  newRun,
  pausedRun,
  resolutionOf,
  resultOf,
  roundAfter,
  startRun,
  takeOver,
} from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import type { SessionPorts } from './stores.ts'

/** One operation on a prepared session. */
export interface LateOperation {
  /** Makes an attempt. Each attempt has the same arguments. */
  attempt(ports: SessionPorts): Promise<unknown>
  /** Continues the session after the operation. `result` is the result of the operation. */
  later(result: unknown): Promise<unknown>
}

type Prepare = (fixture: SessionFixture) => Promise<LateOperation>
type Cases<Port, Reads extends keyof Port = never> = { readonly [name in Exclude<keyof Port, Reads>]: Prepare }

/** Cases for the ports that write a session's log: one for each operation that writes. */
interface LateLandingCases {
  readonly log: Cases<SessionPorts['log']>
  readonly lease: Cases<SessionPorts['lease'], 'readHeader' | 'readHeaderEventually'>
  readonly inbox: Cases<SessionPorts['inbox'], 'assertCapacity' | 'findClaim'>
  readonly imports: Cases<SessionPorts['imports'], 'progress'>
}

const OWNER = 'owner-of-the-attempt'
const ACCOUNT = { owner: 'ada' }

/** Starts a run and stores a round of calls. Also returns the next round, which is not stored. */
async function roundOf(fixture: SessionFixture, names: readonly string[] = ['a', 'b']) {
  const { lease } = await startRun(fixture)
  const round = roundAfter(
    fixture,
    lease,
    lease.head,
    names.map((name) => ({ name })),
  )
  await fixture.log.appendRound(lease, round)
  const next = roundAfter(fixture, lease, headOf(round), [], 1)
  return { lease, round, next }
}

/** Resolves the only call of a paused run. Returns the lease of the holder that resumes the run. */
async function resumedRun(fixture: SessionFixture, needs: 'approval' | 'result') {
  const { started, round } = await pausedRun(fixture, [{ name: 'a', needs }])
  const call = callOf(round, 0)
  const resolution = needs === 'approval' ? approvalOf(call.toolCallId, true) : resolutionOf(call.toolCallId)
  await fixture.inbox.resolve(fixture.key, started.run.id, [resolution])
  const lease = await takeFree(fixture)
  return { lease, call, round }
}

async function takeFree(fixture: SessionFixture): Promise<Lease> {
  const lease = await fixture.lease.take(await header(fixture), 'owner-of-the-next')
  if (lease === undefined) throw new Error('the run could not be taken')
  return lease
}

/** Ends the run that a start returned, and enqueues the next run. */
const endAndStart =
  (fixture: SessionFixture) =>
  async (result: unknown): Promise<unknown> => {
    const { lease } = result as Started
    await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head))
    return fixture.inbox.enqueue(fixture.key, newRun())
  }

const log: LateLandingCases['log'] = {
  async appendRound(fixture) {
    const { lease } = await startRun(fixture)
    const round = roundAfter(fixture, lease, lease.head, [{ name: 'a' }, { name: 'b' }])
    return {
      attempt: ({ log }) => log.appendRound(lease, round, ACCOUNT),
      async later() {
        for (const { id } of round.tools) await fixture.log.completeCall(lease, resultOf(fixture, id))
        await fixture.log.appendRound(lease, roundAfter(fixture, lease, headOf(round), [{ name: 'c' }], 1))
      },
    }
  },
  async append(fixture) {
    const { lease, round, next } = await roundOf(fixture)
    const parts = [{ type: 'text', text: 'refused' } as const]
    const row = { ...callOf(round, 0), id: next.assistant.id, sequence: 64, status: 'error', parts } as const
    return {
      attempt: ({ log }) => log.append(lease, [row]),
      later: () => fixture.log.appendRound(lease, roundAfter(fixture, lease, row.id, [], 1)),
    }
  },
  async completeCall(fixture) {
    const { lease, round, next } = await roundOf(fixture)
    return {
      attempt: ({ log }) => log.completeCall(lease, resultOf(fixture, callOf(round, 0).id)),
      later: () => fixture.log.appendRound(lease, next),
    }
  },
  async beginApproved(fixture) {
    const { lease, call } = await resumedRun(fixture, 'approval')
    return {
      attempt: ({ log }) => log.beginApproved(lease, call.id),
      later: () => fixture.log.completeCall(lease, resultOf(fixture, call.id)),
    }
  },
  async repair(fixture) {
    const { round } = await roundOf(fixture)
    const { lease } = await takeOver(fixture)
    const ids = round.tools.map(({ id }) => id)
    return {
      attempt: ({ log }) => log.repair(lease, ids, { generation: lease.generation, number: 0 }),
      later: () => fixture.log.appendRound(lease, roundAfter(fixture, lease, headOf(round), [], 1)),
    }
  },
  async steer(fixture) {
    const { lease, next } = await roundOf(fixture, [])
    const queued = await fixture.inbox.enqueue(fixture.key, newRun({ onBusy: 'steer' }))
    const id = latestId([next.assistant.id, nextId(queued.runId, fixture.clock.now())]) ?? ''
    return {
      attempt: ({ log }) => log.steer(lease, queued.runId, id),
      later: () => fixture.log.appendRound(lease, roundAfter(fixture, lease, id, [], 1)),
    }
  },
  async recordDecision(fixture) {
    const { lease } = await startRun(fixture)
    const at = lease.head ?? ''
    const notice = { type: 'warning', code: 'context_reduced', detail: 'less', after: at } as const
    const usage = { ...NO_USAGE, inputTokens: 70, outputTokens: 30, totalTokens: 100 }
    const work = { usage, model: 'demo/demo', createdAt: fixture.clock.now() }
    const context = { cut: { from: at, kept: [at], messages: 3, conversational: 2 } }
    const second = { ...notice, detail: 'even less' }
    return {
      attempt: ({ log }) =>
        log.recordDecision(lease, { number: 0, context, notices: [notice], work, account: ACCOUNT }),
      later: () => fixture.log.recordDecision(lease, { number: 1, context: {}, notices: [second] }),
    }
  },
  async pause(fixture) {
    const { lease } = await startRun(fixture)
    const round = roundAfter(fixture, lease, lease.head, [{ name: 'a', needs: 'result' }])
    await fixture.log.appendRound(lease, round)
    return {
      attempt: ({ log }) => log.pause(lease),
      async later() {
        await fixture.inbox.resolve(fixture.key, lease.runId, [resolutionOf(callOf(round, 0).toolCallId)])
        const next = await takeFree(fixture)
        await fixture.log.appendRound(
          next,
          roundAfter(fixture, next, headOf(round), [{ name: 'b', needs: 'result' }], 1),
        )
      },
    }
  },
  async endRun(fixture) {
    const { lease, round } = await roundOf(fixture)
    const end = endAfter(fixture, lease, headOf(round))
    return {
      attempt: ({ log }) => log.endRun(lease, end, ACCOUNT),
      later: () => startRun(fixture),
    }
  },
}

const lease: LateLandingCases['lease'] = {
  async start(fixture) {
    await fixture.inbox.enqueue(fixture.key, newRun())
    const seen = await header(fixture)
    return { attempt: ({ lease }) => lease.start(seen, OWNER), later: endAndStart(fixture) }
  },
  async take(fixture) {
    await roundOf(fixture)
    fixture.clock.advance(LEASE_MS + 1)
    const seen = await header(fixture)
    return {
      attempt: ({ lease }) => lease.take(seen, OWNER),
      async later(taken) {
        await fixture.lease.release((await fixture.lease.claim(taken as Lease)).lease)
      },
    }
  },
  async claim(fixture) {
    const { round } = await roundOf(fixture)
    fixture.clock.advance(LEASE_MS + 1)
    const taken = await takeFree(fixture)
    return {
      attempt: ({ lease }) => lease.claim(taken),
      later: () => fixture.log.completeCall(taken, resultOf(fixture, callOf(round, 0).id)),
    }
  },
  async heartbeat(fixture) {
    const { lease: held } = await startRun(fixture)
    const until = held.until + 15_000
    return {
      attempt: ({ lease }) => lease.heartbeat(held, until),
      later: () => fixture.lease.heartbeat(held, until + 15_000),
    }
  },
  async release(fixture) {
    const { lease: held } = await startRun(fixture)
    return { attempt: ({ lease }) => lease.release(held), later: () => takeFree(fixture) }
  },
}

const inbox: LateLandingCases['inbox'] = {
  async enqueue(fixture) {
    const idempotency = { keyHash: 'key', bodyHash: 'body' }
    const run = newRun({ startAs: OWNER, idempotency })
    return {
      attempt: ({ inbox }) => inbox.enqueue(fixture.key, run),
      later: (result) => endAndStart(fixture)((result as { readonly started?: Started }).started),
    }
  },
  async join(fixture) {
    const { run } = await startRun(fixture)
    return {
      attempt: ({ inbox }) => inbox.join(fixture.key, run.id, { keyHash: 'key', bodyHash: 'body' }),
      later: () => fixture.inbox.join(fixture.key, run.id, { keyHash: 'other', bodyHash: 'body' }),
    }
  },
  async resolve(fixture) {
    const { started, round } = await pausedRun(fixture, [{ name: 'a', needs: 'result' }])
    const resolutions = [resolutionOf(callOf(round, 0).toolCallId)]
    return {
      attempt: ({ inbox }) => inbox.resolve(fixture.key, started.run.id, resolutions),
      async later() {
        const next = await takeFree(fixture)
        await fixture.log.appendRound(
          next,
          roundAfter(fixture, next, headOf(round), [{ name: 'b', needs: 'result' }], 1),
        )
      },
    }
  },
  async cancel(fixture) {
    const { lease: held } = await startRun(fixture)
    return {
      attempt: ({ inbox }) => inbox.cancel(fixture.key, held.runId),
      async later() {
        await fixture.log.endRun(held, endAfter(fixture, held, held.head, 'cancelled'))
        await startRun(fixture)
      },
    }
  },
}

const imports: LateLandingCases['imports'] = {
  async append(fixture) {
    const seen = await header(fixture)
    const now = fixture.clock.now()
    const id = nextId(seen.tail, now)
    const [message = ''] = nextIds(latestId([seen.head, id]), now, 1)
    const base = { id, agent: 'helper', trigger: 'input', onBusy: 'queue', clientTools: [], createdAt: now } as const
    const ended = { status: 'completed', stopReason: 'imported', startedAt: now, endedAt: now } as const
    const run = { ...base, ...ended, rounds: 0, usage: NO_USAGE, usageByAgent: {} }
    const of = { runId: id, agent: 'helper', role: 'user', round: 0, recordedAt: now, createdAt: now } as const
    const step = {
      messages: [{ ...of, id: message, parts: [{ type: 'text', text: 'before' } as const] }],
      runs: [{ run, isNew: true }],
      name: { keyHash: 'import', bodyHash: 'body', forGood: false },
    }
    return { attempt: ({ imports }) => imports.append(seen, step), later: () => startRun(fixture) }
  },
}

export const LATE_LANDING_CASES: LateLandingCases = { log, lease, inbox, imports }
