import { afterEach, expect, test } from 'vitest'
import { textOf } from '../../../../functions/domain/messages/message.ts'
import type { Message, ToolMessage } from '../../../../functions/domain/messages/message.ts'
import { until } from '../../../eventually.ts'
import { completionOf, makeTool, openHarness } from '../../harness.ts'
import type { Harness, Turn } from '../../harness.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})
const set = async (options: Parameters<typeof openHarness>[0]): Promise<Harness> =>
  (harness = await openHarness(options))

const give = (member: string, task: string) => ({
  id: `to-${member}`,
  name: 'delegate_task_to_member',
  arguments: JSON.stringify({ member, task }),
})
const calls = (messages: readonly Message[]): ToolMessage[] => messages.filter((one) => one.role === 'tool')
/** Returns the texts of the leader and of each member. */
const spoken = (messages: readonly Message[]): string[] =>
  messages
    .filter(({ role }) => role === 'assistant')
    .map(({ agent, parts }) => `${agent}: ${textOf(parts)}`)
    .toSorted()

test('a cancel stops all members and stores their partial output', async () => {
  const speaks: Turn = async function* (_request, signal) {
    yield { type: 'text.delta', part: 0, text: 'so far' }
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  }
  let began = false
  const work = makeTool('work', (_input, { signal }) => {
    began = true
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  })
  const it = await set({
    script: [{ calls: [give('speaker', 'a'), give('worker', 'b')] }],
    team: { speaker: { script: [speaks] }, worker: { script: [{ calls: [{ name: 'work' }] }] } },
    tools: [work],
  })
  const runId = await it.submit('go')
  await until(() => began && it.events.some(({ type }) => type === 'text.delta'))
  await it.service.cancel(it.key, runId)
  expect(await it.settled(runId)).toMatchObject({ status: 'cancelled' })
  const log = await it.log()
  expect(calls(log).map(({ toolName, status }) => [toolName, status])).toEqual([
    ['delegate_task_to_member', 'cancelled'],
    ['delegate_task_to_member', 'cancelled'],
    ['work', 'interrupted'],
  ])
  expect(log.find(({ agent, role }) => agent === 'speaker' && role === 'assistant')).toMatchObject({
    finishReason: 'cancelled',
    parts: [{ type: 'text', text: 'so far' }],
  })
  expect(spoken(log)).toEqual(['default: ', 'speaker: so far', 'worker: '])
})

test('an unexpected error stops the run with all members, and no message of the other members is stored', async () => {
  let began = (): void => undefined
  const begun = new Promise<void>((resolve) => (began = resolve))
  const breaks: Turn = async function* () {
    await begun
    yield { type: 'text.delta', part: 0, text: 'I' }
    throw new Error('a fault')
  }
  let stopped = false
  const speaks: Turn = async function* (_request, signal) {
    began()
    // Without an abort, the member would end after a minute, long after its expected stop.
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 60_000)
      signal.addEventListener('abort', () => {
        stopped = true
        clearTimeout(timer)
        resolve()
      })
    })
    signal.throwIfAborted()
    yield { type: 'completion', completion: completionOf({ text: 'spoken' }) }
  }
  const it = await set({
    script: [{ calls: [give('breaker', 'a'), give('speaker', 'b')] }],
    team: { breaker: { script: [breaks] }, speaker: { script: [speaks] } },
  })
  expect(await it.settled(await it.submit('go'))).toMatchObject({ status: 'failed' })
  expect(stopped).toBe(true)
  const log = await it.log()
  expect(log.filter(({ agent, role }) => agent === 'speaker' && role === 'assistant')).toEqual([])
  expect(spoken(log)).toEqual(['breaker: I', 'default: ', 'default: '])
})
