/* Evidence, api: In five stream formats, a stream that is resumed at any event equals the whole stream, in the same order. */
/*
 * A Response that is read again equals the streamed one, and a resumed stream continues after any sequence number. This
 * also holds if the model writes text between two chunks of a call's arguments, as some servers do.
 */
import type OpenAI from 'openai'
import { afterEach, expect, test } from 'vitest'
import { completionOf, makeTool } from '../../../agent/harness.ts'
import type { ModelEvent } from '../../../../functions/ports/model.ts'
import { openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { openAiClient } from '../openai-client.ts'

type Event = OpenAI.Responses.ResponseStreamEvent

let harness: HttpHarness
afterEach(() => harness.close())

const text = (part: number, some: string): ModelEvent => ({ type: 'text.delta', part, text: some })
const call = (some: string): ModelEvent => ({
  type: 'tool_call.delta',
  sequence: 0,
  toolCallId: 'c1',
  toolName: 'look',
  arguments: some,
})
/**
 * Events that an adapter emits (completion-draft.ts): all text after a call's first chunk is one part. With `isWoven`, chunks of
 * text and of arguments alternate.
 */
const events = (isWoven: boolean): ModelEvent[] => [
  text(0, 'I look. '),
  call('{"at":'),
  text(2, 'One '),
  ...(isWoven ? [call('"it"'), text(2, 'moment.'), call('}')] : [text(2, 'moment.'), call('"it"}')]),
]
const made = completionOf({ text: '', calls: [{ id: 'c1', name: 'look', arguments: '{"at":"it"}' }] })
const completion = {
  ...made,
  parts: [
    { type: 'text' as const, text: 'I look. ' },
    { type: 'tool_call' as const, id: 'c1' },
    { type: 'text' as const, text: 'One moment.' },
  ],
}

async function expectOneOrder(_: string, isWoven: boolean): Promise<void> {
  harness = await openHttpHarness({
    tools: [makeTool('look', async () => ({ text: 'seen' }))],
    script: [
      async function* () {
        yield* events(isWoven)
        yield { type: 'completion', completion }
      },
      async function* () {
        // The result is stored before this point.
        await new Promise((resolve) => setTimeout(resolve, 100))
        yield text(0, 'Here it is.')
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
  ['before the rest of a call', false],
  ['between pieces of a call', true],
] as const)('a Response with text %s is equal in its stream, in resumed streams and in reads', expectOneOrder)

/** Texts and arguments that a client assembles from the deltas, by their index in the output. */
function textsOf(some: readonly Event[]): string[] {
  const texts: string[] = []
  for (const event of some)
    if (event.type === 'response.output_text.delta' || event.type === 'response.function_call_arguments.delta')
      texts[event.output_index] = (texts[event.output_index] ?? '') + event.delta
  return texts
}
