/* Evidence, api: In five stream formats, a stream that is resumed at any event equals the whole stream, in the same order. */
/*
 * A Response that is read again equals the streamed one, and a resumed stream continues after any sequence number. This
 * also holds if storing a call's result takes longer than the first words of the next round.
 */
import type OpenAI from 'openai'
import { afterEach, expect, test } from 'vitest'
import { completionOf, makeTool } from '../../../agent/harness.ts'
import type { Ports } from '../../../../functions/runtime/program.ts'
import { openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { openAiClient } from '../openai-client.ts'

type Event = OpenAI.Responses.ResponseStreamEvent

let harness: HttpHarness
afterEach(() => harness.close())

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function expectOneOrder(_: string, storeMs: number, modelMs: number): Promise<void> {
  const change = (ports: Ports): Ports => ({
    ...ports,
    log: {
      ...ports.log,
      async completeCall(...result) {
        await sleep(storeMs)
        return ports.log.completeCall(...result)
      },
    },
  })
  harness = await openHttpHarness({
    tools: [makeTool('look', async () => ({ text: 'seen' }))],
    change,
    script: [
      { text: 'I look.', calls: [{ id: 'c1', name: 'look', arguments: '{"at":"it"}' }] },
      async function* () {
        await sleep(modelMs)
        yield { type: 'text.delta', part: 0, text: 'Here it is.' }
        yield { type: 'completion', completion: completionOf({ text: 'Here it is.' }) }
      },
    ],
  })
  const client = openAiClient(harness)
  const streamed: Event[] = []
  for await (const event of await client.responses.create({ model: 'default', input: 'Hello', stream: true }))
    streamed.push(event)
  const last = streamed.at(-1)
  if (last?.type !== 'response.completed') throw new Error('it has not completed')
  const final = last.response
  expect.soft((await client.responses.retrieve(final.id)).output).toEqual(final.output)
  const whole = textsOf(streamed)
  const wrong: unknown[] = []
  for (const [at, { sequence_number: after }] of streamed.slice(0, -1).entries()) {
    const rest: Event[] = []
    for await (const event of await client.responses.retrieve(final.id, { stream: true, starting_after: after }))
      rest.push(event)
    const got = textsOf([...streamed.slice(0, at + 1), ...rest])
    if (JSON.stringify(got) !== JSON.stringify(whole)) wrong.push({ after, got })
  }
  expect(wrong).toEqual([])
}

test.each([
  ['faster', 0, 100],
  ['slower', 100, 0],
] as const)('a Response is equal in streams and in reads if the store is %s than the model', expectOneOrder)

/** Texts and arguments that a client assembles from the deltas, by their index in the output. */
function textsOf(some: readonly Event[]): string[] {
  const texts: string[] = []
  for (const event of some)
    if (event.type === 'response.output_text.delta' || event.type === 'response.function_call_arguments.delta')
      texts[event.output_index] = (texts[event.output_index] ?? '') + event.delta
  return texts
}
