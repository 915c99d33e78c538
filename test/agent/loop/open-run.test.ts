import { afterEach, expect, test } from 'vitest'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { LeaseLost } from '../../../functions/domain/errors.ts'
import type { SessionChange } from '../../../functions/ports/session-store.ts'
import { until } from '../../eventually.ts'
import { makeTool, openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'

let harness: Harness
afterEach(() => harness.close())

const here = { here: true }
const clientTools = [{ name: 'ask', description: 'asks the caller', parameters: { type: 'object' } }]
const output = [{ type: 'text', text: '42' }] as const
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('an approved call is not executed after its run is cancelled', async () => {
  const ran: string[] = []
  const careful = makeTool('careful', async () => ({ text: String(ran.push('ran')) }), { needsApproval: true })
  const calls = ['a', 'b'].map((id) => ({ id, name: 'careful' }))
  harness = await openHarness({ script: [{ calls }], tools: [careful] })
  const { submit, settled, service, session, key, log, worker } = harness
  const runId = await submit('go')
  await settled(runId)
  await service.resolve(session, runId, [{ toolCallId: 'a', approve: true }], here)
  await service.cancel(key, runId)
  expect(await settled(runId)).toMatchObject({ status: 'cancelled' })
  await worker.idle()
  expect(ran).toEqual([])
  expect((await log()).slice(-2)).toMatchObject([{ status: 'cancelled' }, { status: 'cancelled' }])
})

test('a new holder reads the current session, and assigns greater ids despite a wrong clock', async () => {
  let ahead = 3_600_000
  const clock = { ...createSystemClock(), now: () => Date.now() + ahead }
  harness = await openHarness({ script: [{ calls: [{ id: 'a', name: 'ask' }] }], clock })
  const { submit, settled, session, key, ports, log, another } = harness
  const runId = await submit('go', { clientTools })
  await settled(runId)
  ahead = 0
  const change: SessionChange = { instructions: 'Be kind.' }
  await ports.sessions.update(key, change)
  const other = another([{ text: 'thanks' }])
  await other.service.resolve(session, runId, [{ toolCallId: 'a', output }], here)
  expect(await other.settled(runId)).toMatchObject({ status: 'completed' })
  expect(JSON.stringify(other.requests)).toContain('Be kind.')
  const ids = (await log()).map(({ id }) => id)
  expect(ids).toHaveLength(4)
  expect(ids).toEqual(ids.toSorted())
})

test('a holder starts no further call after a result write has failed because its lease is lost', async () => {
  const ran: string[] = []
  let isRefused = false
  const names = Array.from({ length: 10 }, (_, place) => `tool-${place}`)
  const tools = names.map((name, place) =>
    makeTool(name, async () => {
      ran.push(name)
      if (place > 0) await until(() => isRefused)
      // Eight calls run at a time. The end of the first call starts the ninth. The end of another call would start the tenth.
      await turns()
      return { text: '' }
    }),
  )
  harness = await openHarness({
    script: [{ calls: names.map((name) => ({ id: name, name })) }],
    tools,
    change: (ports) => ({
      ...ports,
      log: {
        ...ports.log,
        async completeCall(lease) {
          isRefused = true
          throw new LeaseLost(lease.session, lease.generation)
        },
      },
    }),
  })
  await harness.submit('go')
  await harness.worker.idle()
  expect(ran).toEqual(names.slice(0, 9))
})
