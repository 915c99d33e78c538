import { expect, test } from 'vitest'
import { createClosedTurns } from '../../../functions/agent/imports/closed-turns.ts'
import { createSearchedMarks } from '../../../functions/agent/imports/searched-marks.ts'
import { createNativeImport } from '../../../functions/log/import/native.ts'

const DEPTH = 20_000

/**
 * Builds a completion with one call, and the result of this call. Below the top level, both belong to the member that works
 * for the call one level up.
 */
function level(name: string, depth: number): object[] {
  const loop = depth === 0 ? {} : { parent_tool_call_id: `call ${depth - 1}` }
  const id = `call ${depth}`
  return [
    { ...loop, role: 'assistant', parts: [], tool_calls: [{ id, name, arguments: '{}' }] },
    { ...loop, role: 'tool', tool_call_id: id, parts: [] },
  ]
}

test('a search below 20,000 nested tasks marks the top agent’s answer', () => {
  const reader = createNativeImport()
  const turns = createClosedTurns()
  const marked = createSearchedMarks()
  const log = [
    ...Array.from({ length: DEPTH }, (_, depth) => level('delegate_task_to_member', depth)).flat(),
    ...level('search_history', DEPTH),
    { role: 'assistant', parts: [{ type: 'text', text: 'done' }] },
  ]
  const placed = log.flatMap((one) => reader.take(one, 'at')).map((message) => marked(turns.place(message)))
  expect(placed.at(-1)?.searched).toBe(true)
  expect(placed.slice(0, -3).some(({ searched }) => searched)).toBe(false)
})
