import { afterEach, describe, expect, test } from 'vitest'
import type { Message } from '../../../functions/domain/messages/message.ts'
import { completionOf, makeTool, openHarness } from '../harness.ts'
import type { Harness, Turn } from '../harness.ts'
import { cancelledWhileStoring } from './late-cancel.ts'
import { until } from '../../eventually.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})
const set = async (options: Parameters<typeof openHarness>[0]): Promise<Harness> =>
  (harness = await openHarness(options))
/**
 * Time limit of a cancel, well below the lease's length of one minute. `running-program.ts` tests the promise of one
 * second.
 */
const SOON_MS = 20_000
const echo = makeTool('echo', async (input) => ({ text: JSON.stringify(input) }))
const clientTools = [{ name: 'ask', description: 'asks the caller', parameters: { type: 'object' } }]
const statuses = (messages: readonly Message[]) =>
  messages.flatMap((message) => (message.role === 'tool' ? [message.status] : []))

/** A model that streams one word and then hangs until it is aborted. */
const hang: Turn = async function* (_request, signal) {
  yield { type: 'text.delta', part: 0, text: 'thinking' }
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
}

describe('cancel', () => {
  test('stops a streaming model at once and stores the streamed text', async () => {
    const { submit, settled, service, key, events, log } = await set({ script: [hang] })
    const runId = await submit('go')
    await until(() => events.some((event) => event.type === 'text.delta'))
    const begun = Date.now()
    await service.cancel(key, runId)
    expect(await settled(runId)).toMatchObject({ status: 'cancelled', stopReason: 'cancelled' })
    expect(Date.now() - begun).toBeLessThan(SOON_MS)
    expect((await log()).at(-1)).toMatchObject({ role: 'assistant', parts: [{ text: 'thinking' }] })
  })

  test("stores the completion's text and none of its calls if the completion has arrived", async () => {
    const late: Turn = async function* (_request, signal) {
      yield { type: 'text.delta', part: 1, text: 'I will' }
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      const completion = completionOf({ text: 'I will', calls: [{ name: 'echo' }] })
      yield {
        type: 'completion',
        completion: { ...completion, parts: [{ type: 'reasoning', text: '' }, ...completion.parts] },
      }
    }
    const { submit, settled, service, key, events, log } = await set({ script: [late], tools: [echo] })
    const runId = await submit('go')
    await until(() => events.some((event) => event.type === 'text.delta'))
    await service.cancel(key, runId)
    expect(await settled(runId)).toMatchObject({ status: 'cancelled' })
    expect((await log()).slice(1)).toMatchObject([{ role: 'assistant', toolCalls: [] }])
    expect((await log()).at(-1)?.parts).toEqual([{ type: 'text', text: 'I will' }])
  })

  test("stores the completion's text and none of its calls if the completion is being stored", async () => {
    const big = makeTool('big', async () => ({ text: 'x'.repeat(60_000) }))
    const { submit, settled, service, key, requests, log } = await set({
      script: [
        { calls: [{ name: 'big' }] },
        async function* () {
          const completion = completionOf({ text: 'and now', calls: [{ name: 'big' }] })
          yield {
            type: 'completion',
            completion: { ...completion, parts: [{ type: 'reasoning', text: '' }, ...completion.parts] },
          }
        },
      ],
      tools: [big],
      change: cancelledWhileStoring(
        () => requests.length === 2,
        () => service.cancel(key, runId),
      ),
    })
    const runId = await submit('go')
    expect(await settled(runId)).toMatchObject({ status: 'cancelled' })
    expect((await log()).slice(2)).toMatchObject([
      { role: 'tool', status: 'completed' },
      { role: 'assistant', toolCalls: [], parts: [{ type: 'text', text: 'and now' }] },
    ])
  })

  test('stops a tool of another process soon, even if the tool ignores its signal', async () => {
    const stuck = makeTool('stuck', () => new Promise(() => undefined))
    const { submit, settled, key, log, another } = await set({
      script: [{ calls: [{ name: 'stuck' }] }],
      tools: [stuck],
    })
    const runId = await submit('go')
    await until(async () => statuses(await log()).includes('running'))
    const begun = Date.now()
    await another([]).service.cancel(key, runId)
    expect(await settled(runId)).toMatchObject({ status: 'cancelled' })
    expect(Date.now() - begun).toBeLessThan(SOON_MS)
    expect(statuses(await log())).toEqual(['interrupted'])
  })

  test('ends a paused run and its waiting call at once', async () => {
    const { submit, settled, service, key, log } = await set({ script: [{ calls: [{ name: 'ask' }] }] })
    const runId = await submit('go', { clientTools })
    await settled(runId)
    await service.cancel(key, runId)
    expect(await settled(runId)).toMatchObject({ status: 'cancelled' })
    expect(statuses(await log())).toEqual(['cancelled'])
  })
})
