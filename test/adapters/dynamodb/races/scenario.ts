import { nextId } from '../../../../functions/domain/ids.ts'
import { LEASE_MS } from '../../../../functions/domain/session.ts'
import {
  resolutionOf,
  approvalOf,
  callOf,
  endAfter,
  header,
  headOf,
  newRun,
  resultOf,
  roundAfter,
} from '../../../contracts/session-fixture.ts'
import type { SessionFixture } from '../../../contracts/session-fixture.ts'
import { snapshot } from '../../../contracts/snapshot.ts'

function must<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the scenario took an unexpected course')
  return value
}

/** Executes the life of a session up to its deletion, with every kind of request to its store. */
export async function liveThrough(fixture: SessionFixture): Promise<void> {
  const { inbox, lease, log, sessions, janitor, clock, key } = fixture
  const idempotency = { keyHash: 'key', bodyHash: 'body' }
  const { started } = await inbox.enqueue(key, newRun({ startAs: 'one', keyId: 'k', idempotency }))
  const first = must(started)
  if (!(await inbox.enqueue(key, newRun({ idempotency }))).repeated) throw new Error('the key was forgotten')
  await lease.heartbeat(first.lease, first.lease.until + 15_000)
  const calls = [
    { name: 'a' },
    { name: 'b' },
    { name: 'ask', needs: 'result' },
    { name: 'send', needs: 'approval' },
  ] as const
  const round = roundAfter(fixture, first.lease, first.lease.head, calls)
  await log.appendRound(first.lease, round)
  await Promise.all(
    [0, 1].map((place) => log.completeCall(first.lease, resultOf(fixture, callOf(round, place).id, `r${place}`))),
  )
  const steering = await inbox.enqueue(key, newRun({ onBusy: 'steer' }))
  const steered = must(await log.steer(first.lease, steering.runId, nextId(headOf(round), clock.now())))
  must(await log.pause(first.lease))
  await inbox.resolve(key, first.run.id, [resolutionOf('call-0-2'), approvalOf('call-0-3', true)])
  const resumed = await lease.claim(must(await lease.take(await header(fixture), 'two')))
  await log.beginApproved(resumed.lease, callOf(round, 3).id)
  await log.completeCall(resumed.lease, resultOf(fixture, callOf(round, 3).id, 'sent'))
  await inbox.enqueue(key, newRun({ keyId: 'k' }))
  const dropped = await inbox.enqueue(key, newRun())
  await inbox.cancel(key, dropped.runId)
  await log.endRun(resumed.lease, endAfter(fixture, resumed.lease, steered.id))
  const second = must(await lease.start(await header(fixture), 'three'))
  await lease.release(second.lease)
  const again = must(await lease.take(await header(fixture), 'four'))
  const later = roundAfter(fixture, again, again.head, [{ name: 'c' }, { name: 'd' }])
  await log.appendRound(again, later)
  clock.advance(LEASE_MS + 1)
  const over = await lease.claim(must(await lease.take(await header(fixture), 'five')))
  await log.repair(over.lease, [callOf(later, 0).id])
  await inbox.cancel(key, again.runId)
  await log.endRun(over.lease, endAfter(fixture, over.lease, headOf(later), 'cancelled'))
  await janitor.clearDue(key)
  await sessions.update(key, { title: 'told' })
  await sessions.list({ tenant: key.tenant, limit: 10 })
}

/** Deletes the scenario's session and returns the counts. */
export async function forget(fixture: SessionFixture): Promise<unknown> {
  const { deletion, key } = fixture
  if (!(await deletion.tombstone(key))) throw new Error('there was nothing to delete')
  while ((await deletion.removeRows(key, 7)).more);
  await deletion.markRemoved(key, 2)
  await deletion.finish(key)
  return deletion.state(key)
}

const VOLATILE = /[0-7][0-9A-HJKMNP-TV-Z]{25}/g

/** Returns the state of the session, with names instead of ids, because ids differ between executions. */
export async function portrait(fixture: SessionFixture): Promise<unknown> {
  const seen = await snapshot(fixture.peer, fixture.key)
  const names = new Map<string, string>()
  const text = JSON.stringify(seen)
    .replaceAll(VOLATILE, (id) => {
      const name = names.get(id) ?? `id ${names.size}`
      names.set(id, name)
      return name
    })
    .replaceAll(fixture.key.tenant, 'tenant')
    .replaceAll(fixture.key.session, 'session')
    .replaceAll(/"[A-Za-z]*(At|due|until)":\d+/g, '"time":0')
  return JSON.parse(text)
}
