import { AsyncLocalStorage } from 'node:async_hooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TooltrailError } from '../../functions/domain/errors.ts'
import { LATE_LANDING_CASES } from './late-landing-cases.ts'
import type { LateOperation } from './late-landing-cases.ts'
import { openFixture } from './session-fixture.ts'
import type { SessionFixture } from './session-fixture.ts'
import { snapshot } from './snapshot.ts'
import type { Engine, Stores } from './stores.ts'
import { isWhole } from '../whole.ts'

type Preparations = { readonly [name: string]: (fixture: SessionFixture) => Promise<LateOperation> }

/** Each session begins at this time, so that sessions differ in their names only. */
const START = Date.UTC(2026, 0, 5, 9)
const DAY = '2026-01-05'
const RANDOM = /[0-7][0-9A-HJKMNP-TV-Z]{25}|(?:tenant|session|owner)-[0-9a-f]{16}/g

/** Interrupts an attempt before one of its requests. Has no effect on an engine without separate requests. */
interface Interruption {
  /** The number of the request, from 1. */
  readonly request: number
  count: number
  interrupt(): Promise<unknown>
}

const interruptions = new AsyncLocalStorage<Interruption | undefined>()

/** Sends a request of an engine. Interrupts the attempt first if this request is the chosen one. */
async function between<T>(request: () => Promise<T>): Promise<T> {
  const interruption = interruptions.getStore()
  if (interruption !== undefined && ++interruption.count === interruption.request) await interruption.interrupt()
  return request()
}

/**
 * Makes an attempt, and calls `interrupt` before the request with this number. Returns whether the attempt has reached
 * that request.
 */
async function interrupted<Result>(
  request: number,
  interrupt: () => Promise<unknown>,
  attempt: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly isReached: boolean }> {
  const interruption = { request, count: 0, interrupt: () => interruptions.run(undefined, interrupt) }
  const result = await interruptions.run(interruption, attempt)
  return { result, isReached: interruption.count >= request }
}

/** Waits for a late attempt. It may reject, because it has lost the lease or because its call is closed. */
async function ignoreRefusal(attempt: Promise<unknown>): Promise<void> {
  try {
    await attempt
  } catch (error) {
    if (!(error instanceof TooltrailError)) throw error
  }
}

/** Returns everything that is stored for the session and its tenant, without random names. */
async function stateOf(fixture: SessionFixture): Promise<unknown> {
  const { tenant } = fixture.key
  const usage = await fixture.usage.sums({ tenant, from: DAY, to: DAY, by: 'agent' })
  const context = await fixture.reader.context(fixture.key)
  const due = (await fixture.janitor.due(Number.MAX_SAFE_INTEGER, 1_000)).filter(({ key }) => key.tenant === tenant)
  return withoutNames({ ...(await snapshot(fixture, fixture.key)), usage, context, due })
}

function withoutNames(value: unknown): unknown {
  const names = new Map<string, string>()
  const text = JSON.stringify(value ?? null, sortFields).replace(RANDOM, (name) => {
    const known = names.get(name) ?? `name ${names.size}`
    names.set(name, known)
    return known
  })
  return JSON.parse(text) as unknown
}

/** Orders the fields of objects for `JSON.stringify`, because names are numbered in the order of the text. */
const sortFields = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : value

/**
 * Contract for repeated operations. A holder or a client repeats an operation whose first attempt did not respond. Both
 * attempts may land, in any order and at any time. In every case, the log has the state that one attempt leaves.
 */
export function lateLandingContract(engine: Engine): void {
  describe(`late landing on ${engine.name}`, () => {
    let stores: Stores
    /** Step from one tried request number to the next. Without `WHOLE=1`, a slow engine skips every second number. */
    const stride = engine.isSlow && !isWhole ? 2 : 1
    beforeAll(async () => void (stores = await engine.open({ between })), 120_000)
    afterAll(() => stores.close())

    for (const [port, cases] of Object.entries(LATE_LANDING_CASES))
      for (const [name, prepare] of Object.entries(cases as Preparations)) {
        const open = async () => {
          stores.clock.set(START - 3_600_000)
          const fixture = await openFixture(stores)
          return { fixture, ...(await prepare(fixture)) }
        }
        let once: Awaited<ReturnType<typeof played>>
        describe(`${port}.${name}`, () => {
          beforeAll(async () => void (once = await played(open)))

          test('a first attempt that begins after the next step changes nothing', async () => {
            const { fixture, attempt, later } = await open()
            await later(await attempt(fixture))
            const before = await stateOf(fixture)
            await ignoreRefusal(attempt(fixture.peer))
            expect(await stateOf(fixture)).toEqual(before)
          })

          test('a first attempt that stalls before a request and continues after the retry changes nothing', async () => {
            for (let request = 1; ; request += stride) {
              const { fixture, attempt } = await open()
              const reached = Promise.withResolvers<void>()
              const released = Promise.withResolvers<void>()
              const stall = (): Promise<void> => {
                reached.resolve()
                return released.promise
              }
              const first = interrupted(request, stall, () => attempt(fixture.peer))
              const ended = ignoreRefusal(first)
              await Promise.race([reached.promise, ended])
              const result = await attempt(fixture)
              if (isHolders(port)) expect(withoutNames(result), `request ${request}`).toEqual(once.result)
              expect(await stateOf(fixture), `request ${request}`).toEqual(once.state)
              released.resolve()
              await ended
              expect(await stateOf(fixture), `request ${request}`).toEqual(once.state)
              if (!(await isReached(first))) return
            }
          })

          test('a first attempt that lands before a request of the retry changes nothing', async () => {
            for (let request = 1; ; request += stride) {
              const { fixture, attempt } = await open()
              const land = () => attempt(fixture.peer)
              const { result, isReached: isDone } = await interrupted(request, land, () => attempt(fixture))
              if (isHolders(port)) expect(withoutNames(result), `request ${request}`).toEqual(once.result)
              expect(await stateOf(fixture), `request ${request}`).toEqual(once.state)
              if (!isDone) return
            }
          })
        })
      }
  })
}

/**
 * Whether a holder repeats the operations of the port. A holder that repeats an operation gets the result of one
 * attempt. A client that repeats an operation may get another result: "accepted before", or no result. If there is no
 * result, the client reads again.
 */
const isHolders = (port: string): boolean => port === 'log' || port === 'lease'

/** Makes one attempt. Returns its result and the state that it leaves. */
async function played(open: () => Promise<LateOperation & { readonly fixture: SessionFixture }>) {
  const { fixture, attempt } = await open()
  const result = withoutNames(await attempt(fixture))
  return { result, state: await stateOf(fixture) }
}

/** Whether the first attempt has reached the request at which it stalls. An attempt that rejects has reached it. */
const isReached = (first: Promise<{ readonly isReached: boolean }>): Promise<boolean> =>
  first.then(
    (attempt) => attempt.isReached,
    () => true,
  )
