import { afterEach, describe, expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import type { RunEvent } from '../../functions/domain/events.ts'
import { makeTool, openHarness } from '../agent/harness.ts'
import type { Harness } from '../agent/harness.ts'
import { HANG_TIMEOUT_MS } from '../eventually.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})

async function follow({ service, key }: Harness, runId: string, after?: string): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  const options = { signal: AbortSignal.timeout(HANG_TIMEOUT_MS), ...definedFields({ after }) }
  for await (const event of service.follow(key, runId, options)) events.push(event)
  return events
}
const stored = (events: readonly RunEvent[]) => events.filter((event) => 'id' in event)

async function runOfTwoRounds(): Promise<{ it: Harness; runId: string; live: readonly RunEvent[] }> {
  const echo = makeTool('echo', async () => ({ text: 'echo' }))
  const it = (harness = await openHarness({ script: [{ calls: [{ name: 'echo' }] }, { text: 'done' }], tools: [echo] }))
  const runId = await it.submit('go')
  await it.settled(runId)
  return { it, runId, live: it.events }
}

describe('events derived from the log', () => {
  test('equal the live events, including their ids', async () => {
    const { it, runId, live } = await runOfTwoRounds()
    expect(stored(await follow(it, runId))).toEqual(stored(live))
  })

  test('resume at the start of the round that contains the last received event', async () => {
    const { it, runId } = await runOfTwoRounds()
    const all = await follow(it, runId)
    const completions = all.filter((event) => event.type === 'message.completed').map((event) => event.id)
    const after = async (id: string | undefined) => (await follow(it, runId, id)).map((event) => event.type)
    expect(await after(completions[1])).toEqual(['round.started', 'message.completed', 'run.completed'])
    expect((await after(completions[0]))[0]).toBe('round.started')
    expect(await after(completions[0])).toHaveLength(all.length - 1)
    expect(await after(undefined)).toHaveLength(all.length)
    const call = all.flatMap((event) => (event.type === 'tool_call.completed' ? [event.id] : []))
    expect(await after(call[0])).toEqual(await after(completions[0]))
    expect(await after(`${runId}:run.completed`)).toEqual(await after(completions[1]))
  })

  test.each(['nonsense', '01JD2Q8N4T6W8Y0A2C4E6G8J0K:run.started'])(
    'are all sent again after the unknown id %s',
    async (after) => {
      const { it, runId } = await runOfTwoRounds()
      expect(await follow(it, runId, after)).toEqual(await follow(it, runId))
    },
  )
})
