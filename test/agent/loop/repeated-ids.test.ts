/* Evidence, durability: A decision that is sent twice never approves another call with an equal id. */
import { afterEach, expect, test } from 'vitest'
import type { CallResolution } from '../../../functions/agent/service/agent-service.ts'
import { makeTool, openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})

const asking = (amount: number) => ({ calls: [{ id: 'call_0', name: 'pay', arguments: `{"amount":${amount}}` }] })

test('an approval applies to the call that the person saw, even with repeated ids and repeated decisions', async () => {
  const paid: unknown[] = []
  const pay = makeTool('pay', async (input) => ({ text: String(paid.push(input)) }), { needsApproval: true })
  harness = await openHarness({ script: [asking(10), asking(1_000_000), { text: 'done' }], tools: [pay] })
  const { submit, settled, service, session, log } = harness
  const runId = await submit('go')
  await settled(runId)
  const rows = async () => (await log()).filter(({ role }) => role === 'tool')
  const [first] = await rows()
  const approve = (messageId?: string): Promise<void> => {
    const call: CallResolution = { toolCallId: 'call_0', approve: true }
    const resolution = messageId === undefined ? call : { ...call, messageId }
    return service.resolve(session, runId, [resolution], { here: true })
  }
  await approve()
  await settled(runId)
  const [, second] = await rows()
  expect(paid).toEqual([{ amount: 10 }])

  await expect(approve()).rejects.toMatchObject({
    code: 'ambiguous_call',
    message: expect.stringContaining(`${first?.id} (pay(amount=10), completed), ${second?.id} (pay(amount=1000000)`),
  })
  await approve(first?.id)
  await expect(approve('01ARZ3NDEKTSV4RRFFQ69G5FAV')).rejects.toMatchObject({ code: 'call_not_found' })
  expect([paid.length, (await rows())[1]]).toMatchObject([1, { status: 'waiting' }])

  await approve(second?.id)
  expect(await settled(runId)).toMatchObject({ status: 'completed' })
  expect(paid).toEqual([{ amount: 10 }, { amount: 1_000_000 }])
})
