/* Evidence, durability: A failed run can be continued even if cancelled inputs follow it. Timeouts may be as long as timers allow. */
/* A platform timer can wait at most 2^31 ms (25 days). A longer timeout is reduced to this limit. */
import { afterEach, expect, test } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import { completionOf, openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'

let harness: Harness
afterEach(() => harness.close())

async function expectCompleted(timeoutMs: number): Promise<void> {
  async function* late() {
    await sleep(50)
    yield { type: 'completion', completion: completionOf({ text: 'hi' }) } as const
  }
  harness = await openHarness({ modelOptions: { timeoutMs }, script: [late, late, late, late, late] })
  expect(await harness.settled(await harness.submit('go'))).toMatchObject({ status: 'completed' })
}

test.each([2 ** 31 - 1, 2 ** 31, 2 ** 40])(
  'a model that takes 50 ms does not exceed a timeout of %d ms',
  expectCompleted,
)
test.each([2 ** 31])(
  'a model that takes 50 ms does not exceed a timeout of %d ms',
  { timeout: 30_000 },
  expectCompleted,
)
