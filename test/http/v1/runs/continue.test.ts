/* Evidence, api: A repeated `continue` returns the run that the first one joined, even after that run has ended. */
import { afterEach, expect, test } from 'vitest'
import { eventually } from '../../../eventually.ts'
import { expectJson, heldTurn, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

interface Run {
  readonly id: string
}

let harness: HttpHarness
afterEach(() => harness.close())

test('a repeated `continue` returns the run that the first one joined, even after that run has ended', async () => {
  const held = heldTurn()
  harness = await openHttpHarness({ script: [held.turn, { text: 'another' }] })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const headers = { prefer: 'respond-async' }
  const body = { content: 'hello' }
  const first = (await expectJson(harness, 202, 'POST', '/v1/sessions/s/messages', body, headers)) as Run
  const again = { ...headers, 'idempotency-key': 'k' }
  const joined = (await expectJson(harness, 202, 'POST', '/v1/sessions/s/continue', undefined, again)) as Run
  expect(joined.id).toBe(first.id)
  held.letGo()
  await eventually(async () => {
    const path = `/v1/sessions/s/runs/${first.id}`
    expect(await expectJson(harness, 200, 'GET', path)).toMatchObject({ status: 'completed' })
  })
  const repeated = (await expectJson(harness, 202, 'POST', '/v1/sessions/s/continue', undefined, again)) as Run
  expect(repeated.id).toBe(first.id)
})
