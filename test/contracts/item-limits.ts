import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SessionContext } from '../../functions/domain/context.ts'
import type { NumberedSources } from '../../functions/domain/messages/source.ts'
import { MAX_NUMBERED_RESULTS } from '../../functions/domain/messages/source.ts'
import { nextIds } from '../../functions/domain/ids.ts'
import type { RunEnd } from '../../functions/domain/runs/run-changes.ts'
import type { Lease } from '../../functions/domain/session.ts'
import { endAfter, header, headOf, openFixture, resultOf, roundAfter, startRun } from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import type { Engine, Stores } from './stores.ts'

/** A text above DynamoDB's limit of 400 KB per item. Each letter has four bytes. */
const LONG = '𐐷'.repeat(150_000)

/**
 * Fills one item of a session up to its limit. Returns the log's last id after these writes. If the item is part of
 * a run's end, returns a `RunEnd` that the caller must store.
 */
type ToLimit = (fixture: SessionFixture, lease: Lease) => Promise<string | undefined | RunEnd>

const withMessage = (end: RunEnd, more: Partial<NonNullable<RunEnd['message']>>): RunEnd => ({
  ...end,
  ...(end.message && { message: { ...end.message, ...more } }),
})

const LIMITS: readonly (readonly [name: string, toLimit: ToLimit])[] = [
  [
    'a completion that numbers the sources of 7,000 results',
    async (fixture, lease) => withMessage(endAfter(fixture, lease, lease.head), { numbered: numbersOf(7_000) }),
  ],
  [
    'a round that numbers the sources of 7,000 results',
    async (fixture, lease) => {
      const round = roundAfter(fixture, lease, lease.head, [])
      await fixture.log.appendRound(lease, { ...round, assistant: { ...round.assistant, numbered: numbersOf(7_000) } })
      return headOf(round)
    },
  ],
  [
    'a completion with a long text',
    async (fixture, lease) =>
      withMessage(endAfter(fixture, lease, lease.head), { parts: [{ type: 'text', text: LONG }] }),
  ],
  [
    '64 open calls with long arguments',
    async (fixture, lease) => {
      const calls = Array.from({ length: 64 }, () => ({
        name: 'long',
        arguments: JSON.stringify(LONG.slice(0, 20_000)),
      }))
      const round = roundAfter(fixture, lease, lease.head, calls)
      await fixture.log.appendRound(lease, round)
      return headOf(round)
    },
  ],
  [
    'a call with a long result and long sources',
    async (fixture, lease) => {
      const round = roundAfter(fixture, lease, lease.head, [{ name: 'long' }])
      await fixture.log.appendRound(lease, round)
      const sources = Array.from({ length: 100 }, (_, n) => ({
        title: `${n}${'é'.repeat(1_990)}`,
        text: 'x'.repeat(2_000),
      }))
      await fixture.log.completeCall(lease, {
        ...resultOf(fixture, headOf(round)),
        ...{ parts: [{ type: 'text', text: LONG }], sources },
      })
      return headOf(round)
    },
  ],
  [
    '2,000 warnings',
    async (fixture, lease) => {
      const after = lease.head ?? ''
      const warning = { type: 'warning', code: 'media_unavailable', detail: 'ü'.repeat(300), after } as const
      await fixture.log.recordDecision(lease, { number: 0, notices: Array.from({ length: 2_000 }, () => warning) })
      return lease.head
    },
  ],
  [
    'a decision about 30,000 ranges of sources',
    async (fixture, lease) => {
      const ranges = Array.from({ length: 30_000 }, (_, n) => [n * 2 + 1, n * 2 + 1] as const)
      const context: SessionContext = { citations: { cited: [], uncited: ranges, left: ranges } }
      return { ...endAfter(fixture, lease, lease.head), context }
    },
  ],
  [
    'a failure with a long message',
    async (fixture, lease) => {
      const error = { code: 'storage', message: LONG, retryable: true } as const
      const end = withMessage(endAfter(fixture, lease, lease.head), {
        parts: [{ type: 'error', code: 'storage', text: LONG }],
      })
      return { ...end, outcome: 'failed', stopReason: 'error', error }
    },
  ],
]

/** Contract: each run can end, because no stored item is too large for the write that ends it. */
export function itemLimitsContract(engine: Engine): void {
  describe(`limits of items on ${engine.name}`, () => {
    let stores: Stores
    beforeAll(async () => void (stores = await engine.open()))
    afterAll(() => stores.close())

    test.each(LIMITS)('a run ends after %s', async (_, toLimit) => {
      const fixture = await openFixture(stores)
      const { lease, run } = await startRun(fixture)
      const reached = await toLimit(fixture, lease)
      const end = typeof reached === 'object' ? reached : endAfter(fixture, lease, reached)
      expect((await fixture.log.endRun(lease, end))?.run.status).toBe(end.outcome)
      const { peer, key } = fixture
      expect(await peer.reader.run(key, run.id)).toMatchObject({ status: end.outcome })
      expect(await peer.reader.message(key, end.message?.id ?? '')).toEqual(end.message)
      if (end.context !== undefined) expect(await peer.reader.context(key)).toEqual(end.context)
      expect(await header(fixture)).not.toHaveProperty('lease')
    })

    test('source numbers of a large completion are read page by page, in either order', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const count = MAX_NUMBERED_RESULTS + 1
      const numbered = numbersOf(count)
      await fixture.log.endRun(lease, withMessage(endAfter(fixture, lease, lease.head), { numbered }))
      const { peer, key } = fixture
      expect(await peer.reader.sources(key, { order: 'ascending', limit: count })).toEqual({ numbered, more: false })
      const last = { order: 'descending', limit: 2 } as const
      expect(await peer.reader.sources(key, last)).toEqual({ numbered: numbered.slice(-2).toReversed(), more: true })
      const middle = { order: 'ascending', after: 2 * MAX_NUMBERED_RESULTS - 2, limit: 9 } as const
      expect(await peer.reader.sources(key, middle)).toEqual({ numbered: numbered.slice(-2), more: false })
    })
  })
}

/** Returns numbers for two sources of each of `results` results. */
function numbersOf(results: number): NumberedSources[] {
  return nextIds(undefined, 1_000, results).map((message, place) => ({ message, from: place * 2 + 1, count: 2 }))
}
