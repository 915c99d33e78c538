/* Evidence, replay: A completion numbers the sources of at most 2,000 results. A failed run stores no data that was refused. */
import { afterEach, expect, test } from 'vitest'
import { MAX_NUMBERED_RESULTS } from '../../../../functions/domain/messages/source.ts'
import type { ClosedMessage } from '../../../../functions/domain/messages/closed-message.ts'
import { openHarness } from '../../harness.ts'
import type { Harness } from '../../harness.ts'

let harness: Harness
afterEach(() => harness.close())

const RESULTS_OF_ROUND = 50
/** Number of rounds. Their results exceed the limit of one completion by the results of one round. */
const ROUNDS = MAX_NUMBERED_RESULTS / RESULTS_OF_ROUND + 1
const REST = RESULTS_OF_ROUND

function* searches(): Generator<ClosedMessage> {
  yield { role: 'user', parts: [{ type: 'text', text: 'look all of it up' }] } as ClosedMessage
  for (let round = 0; round < ROUNDS; round++) {
    const toolCalls = Array.from({ length: RESULTS_OF_ROUND }, (_, n) => ({
      id: `c${n}`,
      name: 'find',
      arguments: '{}',
    }))
    const of = {
      role: 'assistant',
      parts: toolCalls.map(({ id }) => ({ type: 'tool_call', id })),
      toolCalls,
    } as ClosedMessage
    yield of
    for (let sequence = 0; sequence < RESULTS_OF_ROUND; sequence++)
      yield {
        ...{ role: 'tool', of, sequence, status: 'completed', mediaType: 'text/plain; charset=utf-8' },
        parts: [{ type: 'text', text: 'found' }],
        sources: [{ title: 'a page' }],
      } as ClosedMessage
  }
  yield { role: 'assistant', parts: [{ type: 'text', text: 'all of it' }], toolCalls: [] } as ClosedMessage
}

test('after an import with too many sources for a completion, each run numbers the oldest remaining sources', async () => {
  harness = await openHarness({
    script: [{ text: 'one' }, { text: 'two' }],
    policies: { contextTokens: 4_000_000, consolidation: false },
  })
  const { service, session, key, ports, requests } = harness
  await service.importMessages(session, searches(), {})
  for (const input of ['and now?', 'and then?'])
    expect(await harness.settled(await harness.submit(input))).toMatchObject({ status: 'completed' })
  const { messages } = await ports.reader.messages(key, { order: 'descending', limit: 4 })
  const counts = messages.flatMap((message) => (message.role === 'assistant' ? [message.numbered?.length] : []))
  expect(counts).toEqual([REST, MAX_NUMBERED_RESULTS])
  const shown = requests.map((request) => JSON.stringify(request).match(/\[source\d+\]/g)?.length)
  expect(shown).toEqual([MAX_NUMBERED_RESULTS, MAX_NUMBERED_RESULTS + REST])
  const last = await ports.reader.sources(key, { order: 'descending', limit: 1 })
  expect(last.numbered[0]?.from).toBe(MAX_NUMBERED_RESULTS + REST)
})
