/* A request that brings tool results may replace the tools and instructions of its run. */
import { afterEach, expect, test } from 'vitest'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import type { ContinuingRequest } from '../../../functions/agent/service/agent-service.ts'
import { until } from '../../eventually.ts'
import { makeTool, openHarness } from '../harness.ts'
import type { Harness, Turn } from '../harness.ts'

let harness: Harness
afterEach(() => harness.close())

const here = { here: true }
const output = [{ type: 'text', text: '42' }] as const
const tool = (name: string) => ({ name, description: name, parameters: { type: 'object' } })
const newest: ContinuingRequest = { clientTools: [tool('other')], instructions: 'Be quick.' }
const ask = { id: 'a', name: 'ask' }
const sent = ({ requests }: Pick<Harness, 'requests'>) =>
  requests.map(({ instructions, tools }) => [instructions, tools.map(({ name }) => name).join(' ')])

test('the process that takes over after a kill sends an equal request, with the newest tools and instructions', async () => {
  let ahead = 0
  const clock = { ...createSystemClock(), now: () => Date.now() + ahead }
  const hangs: Turn = async function* (_, signal) {
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
    yield* []
  }
  harness = await openHarness({ script: [{ calls: [ask] }, hangs], clock })
  const { submit, settled, service, session, key, another, requests } = harness
  const runId = await submit('go', { clientTools: [tool('ask')] })
  await settled(runId)
  await service.resolve(session, runId, [{ toolCallId: 'a', output }], here, newest)
  await until(() => requests.length === 2)
  ahead = 61_000
  const other = another([{ text: 'done' }])
  await other.worker.serve(key)
  expect(await other.settled(runId)).toMatchObject({ status: 'completed' })
  expect(sent(harness)).toEqual([
    ['Be brief.', 'ask'],
    ['Be quick.', 'other'],
  ])
  expect(other.requests).toEqual(requests.slice(1))
})

test('if results arrive while another call executes, they replace the tools and instructions of the run', async () => {
  const { promise, resolve: release } = Promise.withResolvers<{ text: string }>()
  const tools = [makeTool('slow', () => promise)]
  harness = await openHarness({ script: [{ calls: [ask, { id: 'b', name: 'slow' }] }, { text: 'done' }], tools })
  const { submit, settled, service, session, log } = harness
  const runId = await submit('go', { clientTools: [tool('ask')] })
  await until(async () => (await log()).length === 4)
  await service.resolve(session, runId, [{ toolCallId: 'a', output }], here, newest)
  release({ text: 'slow' })
  expect(await settled(runId)).toMatchObject({ status: 'completed' })
  expect(sent(harness)).toEqual([
    ['Be brief.', 'ask slow'],
    ['Be quick.', 'other slow'],
  ])
})

test('an approved call executes even if its approval comes with a client tool of the same name', async () => {
  const ran: string[] = []
  const tools = [makeTool('careful', async () => ({ text: String(ran.push('ran')) }), { needsApproval: true })]
  harness = await openHarness({ script: [{ calls: [ask, { id: 'b', name: 'careful' }] }, { text: 'done' }], tools })
  const { submit, settled, service, session } = harness
  const runId = await submit('go', { clientTools: [tool('ask')] })
  await settled(runId)
  const results = [
    { toolCallId: 'a', output },
    { toolCallId: 'b', approve: true },
  ]
  await service.resolve(session, runId, results, here, { clientTools: [tool('careful')] })
  expect(await settled(runId)).toMatchObject({ status: 'completed' })
  expect(ran).toEqual(['ran'])
})
