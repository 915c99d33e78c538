import { expect, test } from 'vitest'
import { createOpenAiImport } from '../../functions/log/import/openai.ts'
import { processorTime } from '../processor-time.ts'

const call = (id: string) => ({ id, type: 'function', function: { name: 'shell', arguments: '{}' } })
const asked = (...ids: string[]) => ({ role: 'assistant', tool_calls: ids.map(call) })
const answered = (id: string) => ({ role: 'tool', tool_call_id: id, content: id })

test('results go to the first open call of their name, and what is left when the log goes on was interrupted', () => {
  const log = createOpenAiImport()
  const given = [asked('a', 'a', 'b'), asked('a'), answered('b'), answered('a'), answered('a'), asked('c')]
  const read = given.flatMap((message, at) => log.take(message, `${at}`))
  const results = [...read, ...log.end()].flatMap((one) => (one.role === 'tool' ? [one] : []))
  const [first, second] = read
  expect(
    results.map(({ of, sequence, status }) => [of === first ? 1 : of === second ? 2 : 3, sequence, status]),
  ).toEqual([
    [1, 2, 'completed'],
    [1, 0, 'completed'],
    [1, 1, 'completed'],
    [2, 0, 'interrupted'],
    [3, 0, 'interrupted'],
  ])
})

test('a call is found at once among 30,000 that are open, and a message joins as many', () => {
  const log = createOpenAiImport()
  const ids = Array.from({ length: 30_000 }, (_, at) => `call ${at}`)
  const before = processorTime()
  for (const id of ids) log.take(asked(id), id)
  for (const id of ids.toReversed()) expect(log.take(answered(id), id)).toHaveLength(1)
  expect(log.end()).toEqual([])
  // With a look through all that are open: 10 s and more.
  expect(processorTime() - before).toBeLessThan(3_000)
})
