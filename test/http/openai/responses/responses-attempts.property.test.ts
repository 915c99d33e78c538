/* Evidence, api: A Response has the text of one attempt, also for a client that resumes after abandoned attempts. */
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import type { AssistantPart } from '../../../../functions/domain/messages/message.ts'
import { ModelError } from '../../../../functions/ports/model.ts'
import { completionOf, makeTool } from '../../../agent/harness.ts'
import type { Turn } from '../../../agent/harness.ts'
import { fc } from '../../../generators/seeded.ts'
import { isWhole } from '../../../whole.ts'
import { openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { openAiClient } from '../openai-client.ts'

type StreamEvent = OpenAI.Responses.ResponseStreamEvent
type Piece = { readonly type: 'text' | 'reasoning'; readonly text: string }
/** The attempts of a round. Each attempt except the last breaks off. */
type Round = readonly (readonly Piece[])[]

const system = createSystemClock()
/** A clock whose sleeps take a hundredth of their time, so that retries are fast. */
const clock = { ...system, sleep: (ms: number, signal?: AbortSignal) => system.sleep(ms / 100, signal) }

const anyPiece: fc.Arbitrary<Piece> = fc.record({
  type: fc.constantFrom('text', 'text', 'reasoning'),
  text: fc.constantFrom('Half ', 'a ', 'é🙂', 'Whole. '),
})
const anyRound: fc.Arbitrary<Round> = fc.array(fc.array(anyPiece, { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 3,
})
const anyRounds = fc.array(anyRound, { minLength: 1, maxLength: 2 })

/** The turns of the model. Each round except the last ends with a call. */
const turnsOf = (rounds: readonly Round[]): Turn[] =>
  rounds.flatMap((attempts, round) =>
    attempts.map((pieces, attempt): Turn => {
      const calls = round < rounds.length - 1 ? [{ id: `c${round}`, name: 'look', arguments: '{}' }] : []
      return async function* () {
        const parts: AssistantPart[] = []
        for (const { type, text } of pieces) {
          const last = parts.at(-1)
          if (last?.type === type) parts[parts.length - 1] = { type, text: last.text + text }
          else parts.push({ type, text })
          yield { type: `${type}.delta`, part: parts.length - 1, text }
        }
        if (attempt < attempts.length - 1) throw new ModelError('network', 'broken', { retryable: true })
        const called = calls.map(({ id }) => ({ type: 'tool_call', id }) as const)
        yield { type: 'completion', completion: { ...completionOf({ calls }), parts: [...parts, ...called] } }
      }
    }),
  )

const numberOf = (event: StreamEvent | undefined): number =>
  event !== undefined && 'sequence_number' in event ? event.sequence_number : -1

/** The events about the items of this output. Neighbouring deltas are joined, because a text may be split differently. */
function eventsOf(events: readonly StreamEvent[], kept: ReadonlySet<string>): object[] {
  const joined: Record<string, unknown>[] = []
  for (const event of events) {
    const id = 'item_id' in event ? event.item_id : 'item' in event ? event.item.id : undefined
    if (id === undefined || !kept.has(id)) continue
    const { output_index: _, sequence_number, ...rest } = event as { output_index: number; sequence_number: number }
    const next: Record<string, unknown> = { ...rest, sequence_number }
    const before = joined.at(-1)
    if (before !== undefined && 'delta' in next && before['type'] === next['type'] && before['item_id'] === id)
      joined[joined.length - 1] = { ...next, delta: `${String(before['delta'])}${String(next['delta'])}` }
    else joined.push(next)
  }
  return joined
}

/** Creates a client of the real package. To save time, its many responses are not checked against the description. */
const uncheckedClient = ({ program }: HttpHarness): OpenAI =>
  new OpenAI({
    baseURL: 'http://localhost:3000/openai/v1',
    apiKey: 'made-up',
    fetch: async (input, init) => program.app.fetch(new Request(input as Request, init as RequestInit)),
  })

async function playRounds(rounds: readonly Round[]): Promise<void> {
  const tools = [makeTool('look', async () => ({ text: 'seen' }))]
  const harness = await openHttpHarness({ script: turnsOf(rounds), tools, clock })
  try {
    await comparePrefixes(uncheckedClient(harness))
  } finally {
    await harness.close()
  }
}

/** Resumes the Response after each of its events. */
async function comparePrefixes(client: OpenAI): Promise<void> {
  const live: StreamEvent[] = []
  for await (const event of await client.responses.create({ model: 'default:calls', input: 'Go', stream: true }))
    live.push(event)
  const [created] = live
  if (created?.type !== 'response.created') throw new Error('the stream begins with the Response')
  const { id } = created.response
  const resumed = async (after?: number): Promise<StreamEvent[]> => {
    const events: StreamEvent[] = []
    const from = after === undefined ? {} : { starting_after: after }
    for await (const event of await client.responses.retrieve(id, { stream: true, ...from })) events.push(event)
    return events
  }
  const final = await client.responses.retrieve(id)
  expect(final.status).toBe('completed')
  const last = live.at(-1)
  expect(last).toMatchObject({ type: 'response.completed', response: { output: final.output } })
  const kept = new Set(final.output.map((item) => item.id ?? ''))
  const whole = eventsOf(live, kept)
  expect(eventsOf(await resumed(), kept)).toEqual(whole)
  for (const [place, event] of live.slice(0, -1).entries()) {
    const both = [...live.slice(0, place + 1), ...(await resumed(numberOf(event)))]
    expect(eventsOf(both, kept)).toEqual(whole)
    const numbers = both.map(numberOf)
    expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other))
    expect(both.at(-1)).toEqual(last)
  }
}

test('a prefix of a Response and its remainder have the items of the kept attempts, live and stored', async () => {
  await fc.assert(fc.asyncProperty(anyRounds, playRounds), { numRuns: isWhole ? 100 : 5, endOnFailure: true })
})

test('a Response that is resumed while its second attempt streams has the text of that attempt', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const text = (said: string) => ({ type: 'text.delta', part: 0, text: said }) as const
  const script: Turn[] = [
    async function* () {
      yield text('Half ')
      throw new ModelError('network', 'broken', { retryable: true })
    },
    async function* () {
      yield text('Who')
      await released
      yield text('le.')
      yield { type: 'completion', completion: completionOf({ text: 'Whole.' }) }
    },
  ]
  const harness = await openHttpHarness({ script, clock })
  try {
    const client = openAiClient(harness)
    const texts = new Map<string, string>()
    let [id, after] = ['', 0]
    const add = (event: StreamEvent): void => {
      after = numberOf(event)
      if (event.type === 'response.output_text.delta')
        texts.set(event.item_id, (texts.get(event.item_id) ?? '') + event.delta)
    }
    for await (const event of await client.responses.create({ model: 'default', input: 'Go', stream: true })) {
      if (event.type === 'response.created') id = event.response.id
      add(event)
      if (texts.size > 0) break
    }
    await expect.poll(() => harness.requests.length).toBe(2)
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: after })) {
      add(event)
      if (texts.size > 1) release()
    }
    expect([...texts.values()]).toEqual(['Half ', 'Whole.'])
    const { output } = await client.responses.retrieve(id)
    expect(output.map((item) => item.id)).toEqual([[...texts.keys()].at(-1)])
  } finally {
    await harness.close()
  }
})
