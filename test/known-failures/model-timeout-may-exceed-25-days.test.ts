/*
 * `model_options.timeout_ms` may be any positive number. Today, from 2^31 on (25 days), the timer fires after 1 ms, and every request
 * fails as "the model was silent".
 *
 * Suite: test/agent/loop/
 */
import { afterEach, expect, test } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import { completionOf, openHarness } from '../agent/harness.ts'
import type { Harness } from '../agent/harness.ts'

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

test.each([2 ** 31 - 1])('a model that takes 50 ms is in time within %d ms', { timeout: 30_000 }, expectCompleted)
test.fails.each([2 ** 31])('a model that takes 50 ms is in time within %d ms', { timeout: 30_000 }, expectCompleted)
