/* Evidence, durability: A failed run can be continued behind cancelled inputs. Timeouts may be as long as timers allow. */
/*
 * A failed run at the end of the log can be continued (docs/reference/api.md). This also holds if another input was queued
 * behind the run and was cancelled before its start. Such an input leaves no message in the log.
 */
import { afterEach, expect, test } from 'vitest'
import { ModelError } from '../../../functions/ports/model.ts'
import { openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'

let harness: Harness
afterEach(() => harness.close())

test('a failed run continues after the input behind it is cancelled', async () => {
  const gate = Promise.withResolvers<void>()
  harness = await openHarness({
    script: [
      async function* () {
        yield* []
        await gate.promise
        throw new ModelError('invalid_request', 'the provider is down', { retryable: false })
      },
      { text: 'now it works' },
    ],
  })
  const failing = await harness.submit('one')
  const behind = await harness.submit('two')
  await harness.service.cancel(harness.key, behind)
  gate.resolve()
  expect((await harness.settled(failing)).status).toBe('failed')
  const { runId } = await harness.service.continue(harness.session, {}, { here: true })
  expect((await harness.settled(runId)).status).toBe('completed')
})
