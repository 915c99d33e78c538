/* Evidence, limits: On one machine, a large output does not block requests. */
import { isWhole } from '../../whole.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PROMISED_TIME_RETRIES } from '../../eventually.ts'
import { makeTool } from '../../agent/harness.ts'
import { expectJson, openHttpHarness } from '../../http/harness.ts'
import type { HttpHarness } from '../../http/harness.ts'

/** Size of the output in MB. `WHOLE=1` tests a size that once blocked the program for minutes. */
const MB = isWhole ? 100 : 16
const LINE = '2026-01-01T00:00:00Z INFO request ok xxxxxxxxxxxx\n'
/** Time limits of a health check and of a search. A search waits 5 s for the index, and reports if the index is incomplete. */
const HEALTHY_MS = 1_000
const SEARCHED_MS = 8_000
const MINUTES_MS = 600_000

let harness: HttpHarness
beforeEach(async () => {
  const dump = makeTool('dump', async () => ({ text: `${LINE.repeat((MB * 1e6) / LINE.length)}the end: zebra` }))
  harness = await openHttpHarness({ script: [{ calls: [{ name: 'dump' }] }, { text: 'ok' }], tools: [dump] })
})
afterEach(() => harness.close())

/**
 * Measures the event loop. The returned function stops this, and returns the longest time for which the loop was blocked.
 */
function watchLoop(): () => number {
  let [longest, before] = [0, performance.now()]
  const tick = (): void => {
    longest = Math.max(longest, performance.now() - before)
    before = performance.now()
  }
  const ticking = setInterval(tick, 10)
  return () => {
    tick()
    clearInterval(ticking)
    return longest
  }
}

test(
  'storing and indexing a large output delays no request, and its last word is found',
  { retry: PROMISED_TIME_RETRIES, timeout: MINUTES_MS },
  async () => {
    const search = async (): Promise<{ readonly incomplete?: boolean; readonly data: readonly unknown[] }> =>
      (await (await harness.send('GET', '/v1/search?q=zebra')).json()) as never
    const endOfRun = watchLoop()
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
    const run = await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'go' })
    expect(run).toMatchObject({ status: 'completed' })
    const longestOfRun = endOfRun()
    const endOfSearch = watchLoop()
    const begun = performance.now()
    await search()
    const searched = performance.now() - begun
    const longest = endOfSearch()
    console.log(
      `${MB} MB: longest pause of the run ${longestOfRun.toFixed(0)} ms, of a search ${longest.toFixed(0)} ms, which took ${searched.toFixed(0)} ms`,
    )
    expect(Math.max(longest, longestOfRun)).toBeLessThan(HEALTHY_MS)
    expect(searched).toBeLessThan(SEARCHED_MS)
    await expect.poll(async () => (await search()).data.length, { timeout: MINUTES_MS, interval: 1_000 }).toBe(1)
    console.log(`found after ${((performance.now() - begun) / 1_000).toFixed(0)} s`)
  },
)
