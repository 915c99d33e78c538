/* Evidence, limits: Callers that wait for a run in another process share one read per second. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createEventBus } from '../../../../functions/agent/events/event-bus.ts'
import { followRun } from '../../../../functions/agent/events/follow-run.ts'
import type { FollowDependencies } from '../../../../functions/agent/events/follow-run.ts'
import { untilSettled } from '../../../../functions/agent/events/until-settled.ts'
import type { LogReader } from '../../../../functions/ports/log-reader.ts'
import { callOf, endAfter, openFixture, resultOf, roundAfter, startRun } from '../../../contracts/session-fixture.ts'
import type { SessionFixture } from '../../../contracts/session-fixture.ts'
import type { Stores } from '../../../contracts/stores.ts'
import { dynamodbClient } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { dynamodbEngine } from '../engine.ts'
import { countReadUnits } from '../read-units.ts'

const SECONDS = 5
const FOLLOWERS = 100
/** The only call of a round in progress. The call is running, but the header does not show this. */
const CALLS = [{ name: 'slow' }]

withEngines(['dynamodb'], ({ dynamodb }) => {
  const client = dynamodbClient(dynamodb)
  const meter = countReadUnits(client)
  let stores: Stores
  beforeAll(async () => void (stores = await dynamodbEngine(dynamodb, client).open()), 120_000)
  afterAll(() => stores.close())

  /** Returns the dependencies of a process that does not execute the run. */
  const elsewhere = ({ reader, lease }: SessionFixture): FollowDependencies => ({
    reader,
    lease,
    worker: { isServing: () => false },
    bus: createEventBus(),
  })

  /** Measures the read units per second of consumers that have read all stored events. */
  async function unitsASecond(): Promise<number> {
    // A consumer that starts during a shared read causes one additional read, which ends during this wait.
    await sleep(1_500)
    const begun = performance.now()
    meter.units = 0
    await sleep(SECONDS * 1_000)
    // Depending on its start, the measured interval may contain one additional read.
    return (Math.max(0, meter.units - 1) * 1_000) / (performance.now() - begun)
  }

  test('all callers that wait for one remote run together cost at most one read unit per second', async () => {
    const fixture = await openFixture(stores)
    const { lease } = await startRun({ ...fixture, ...fixture.peer })
    const round = roundAfter(fixture, lease, lease.head, CALLS)
    await fixture.peer.log.appendRound(lease, round)
    let read = 0
    const reader: LogReader = {
      ...fixture.reader,
      run: (...of) => fixture.reader.run(...of).finally(() => read++),
    }
    const following = { ...elsewhere(fixture), reader }
    const { signal } = new AbortController()
    const waiting = Array.from({ length: FOLLOWERS }, () => untilSettled(following, fixture.key, lease.runId, signal))
    await expect.poll(() => read).toBeGreaterThanOrEqual(FOLLOWERS)
    expect(await unitsASecond()).toBeLessThanOrEqual(1)
    await fixture.peer.log.completeCall(lease, resultOf(fixture, callOf(round, 0).id))
    await fixture.peer.log.endRun(lease, endAfter(fixture, lease, round.tools.at(-1)?.id))
    await Promise.all(waiting)
  })

  test('subscribers to all events of one remote run share their reads and miss no event', async () => {
    const fixture = await openFixture(stores)
    const { lease } = await startRun({ ...fixture, ...fixture.peer })
    const round = roundAfter(fixture, lease, lease.head, CALLS)
    await fixture.peer.log.appendRound(lease, round)
    const following = elsewhere(fixture)
    const { signal } = new AbortController()
    const shownTypes: string[][] = Array.from({ length: FOLLOWERS }, () => [])
    const shown = shownTypes.map(async (types) => {
      for await (const { type } of followRun(following, fixture.key, lease.runId, { signal })) types.push(type)
      return types
    })
    await expect.poll(() => shownTypes.every((types) => types.includes('tool_call.started'))).toBe(true)
    expect(await unitsASecond()).toBeLessThanOrEqual(8)
    await fixture.peer.log.completeCall(lease, resultOf(fixture, callOf(round, 0).id))
    await sleep(1_500)
    await fixture.peer.log.endRun(lease, endAfter(fixture, lease, round.tools.at(-1)?.id))
    for (const types of await Promise.all(shown))
      expect(types).toEqual([
        'run.started',
        'round.started',
        'message.completed',
        'tool_call.started',
        'tool_call.completed',
        'message.completed',
        'run.completed',
      ])
  })
})
