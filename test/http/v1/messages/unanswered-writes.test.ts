import { expect, test } from 'vitest'
import { TooltrailError } from '../../../../functions/domain/errors.ts'
import { expectJson, openHttpHarness } from '../../harness.ts'

test('an input whose write got no response is stored only once when it is repeated under its key', async () => {
  let isLost = true
  const harness = await openHttpHarness({
    script: [{ text: 'Two.' }],
    change: (ports) => ({
      ...ports,
      inbox: {
        ...ports.inbox,
        async enqueue(...given) {
          const enqueued = await ports.inbox.enqueue(...given)
          if (!isLost) return enqueued
          isLost = false
          throw new TooltrailError('storage_failed', 'no response from 10.0.0.7', { retryable: true })
        },
      },
    }),
  })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const headers = { 'idempotency-key': 'k', prefer: 'respond-async' }
  const send = (status: number) =>
    expectJson(harness, status, 'POST', '/v1/sessions/s/messages', { content: 'hi' }, headers)
  const refused = await send(503)
  expect(refused['detail']).toMatch(/^the storage did not respond, and the request may have been executed/)
  const { id } = await send(202)
  const runs = await expectJson(harness, 200, 'GET', '/v1/sessions/s/runs')
  expect(runs['data']).toMatchObject([{ id }])
  await harness.close()
})
