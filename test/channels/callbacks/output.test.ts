import { expect, test } from 'vitest'
import { callbackBody } from '../../../functions/http/v1/callbacks/body.ts'
import { expectJson, openHttpHarness } from '../../http/harness.ts'

test('a body has the output of its run, unless the output makes the body too long', async () => {
  const [short, long] = ['{"a": 1.0}', JSON.stringify({ a: 'x'.repeat(300_000) })]
  const harness = await openHttpHarness({ script: [{ text: short }, { text: long }] })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const bodies: string[] = []
  for (const content of ['one', 'two']) {
    const message = { content, response_format: { type: 'json_object' } }
    const { id } = await expectJson<{ id: string }>(harness, 200, 'POST', '/v1/sessions/s/messages', message)
    const run = await harness.ports.reader.run({ tenant: 'default', session: 's' }, id)
    if (run !== undefined)
      bodies.push(await callbackBody(harness.ports.reader, { tenant: 'default', session: 's' }, run))
  }
  expect(bodies[0]).toContain('"output":{"a":1.0}')
  expect(bodies[1]).not.toContain('"output"')
  expect(Buffer.byteLength(bodies[1] ?? '')).toBeLessThanOrEqual(256 * 1_024)
  await harness.close()
})
