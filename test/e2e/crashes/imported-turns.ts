import { expect } from 'vitest'
import type { DurableClient } from './parts/durable-client.ts'
import { textOf } from './invariants.ts'

/** More turns than two steps of an import can store. */
const TURNS = 44
/** This turn has a result that is too large to be stored in its row. */
const LARGE = 20
const IMPORTED = 'imported'

const resultOf = (turn: number): string => `result of turn ${turn}${turn === LARGE ? ' and more'.repeat(20_000) : ''}`

const MESSAGES = Array.from({ length: TURNS }, (_, turn) => [
  { role: 'user', content: `question ${turn}` },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `old${turn}`, type: 'function', function: { name: 'look', arguments: `{"turn": ${turn}}` } }],
  },
  { role: 'tool', tool_call_id: `old${turn}`, content: resultOf(turn), created_at: '2025-03-01T10:00:00Z' },
  { role: 'assistant', content: `answer ${turn}` },
]).flat()

/** Imports turns of a source, with retries. Afterwards, each turn must be in the log once, in order. */
export async function importOnce({ client, knows }: DurableClient): Promise<void> {
  // An import is refused while a run is active.
  if (knows.stopped.has(IMPORTED)) return
  const body = { format: 'openai', source: 'old', from: 0, messages: MESSAGES }
  const imported = await client.post<{ total: number }>(`/v1/sessions/${knows.session}/import`, body)
  expect(imported.total, `${knows.session}: messages of the source`).toBe(MESSAGES.length)
  const reported = (await client.messages(knows.session)).map((message) => [message.role, textOf(message).slice(0, 20)])
  expect(reported, `${knows.session}: the import in the log`).toStrictEqual(
    MESSAGES.map(({ role, content }) => [role, (content ?? '').slice(0, 20)]),
  )
  knows.stopped.add(IMPORTED)
}
