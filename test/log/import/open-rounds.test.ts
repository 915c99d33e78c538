/* Evidence, limits: An import needs bounded memory, whatever its messages, calls and members are. */
/* Evidence, limits: An import finds a result's call quickly, however many calls are open. The import yields to other work. */
import { describe, expect, test } from 'vitest'
import { createNativeImport } from '../../../functions/log/import/native.ts'
import { createOpenAiImport } from '../../../functions/log/import/openai.ts'
import { processorTime } from '../../processor-time.ts'

const call = (id: string) => ({ id, type: 'function', function: { name: 'shell', arguments: '{}' } })
const asked = (...ids: string[]) => ({ role: 'assistant', tool_calls: ids.map(call) })
const answered = (id: string) => ({ role: 'tool', tool_call_id: id, content: id })

test('a result is assigned to the first open call with its id; calls without a result are interrupted', () => {
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

test('results find their calls among 10,000 open calls within one second', () => {
  const log = createOpenAiImport()
  const ids = Array.from({ length: 10_000 }, (_, at) => `call ${at}`)
  const before = processorTime()
  for (const id of ids) log.take(asked(id), id)
  const taken = ids.toReversed().flatMap((id) => log.take(answered(id), id))
  // A linear scan of the open calls would take 1 s more.
  expect(processorTime() - before).toBeLessThan(1_000)
  expect(taken).toHaveLength(10_000)
  expect(log.end()).toEqual([])
})

const native = (...ids: string[]) => ({
  role: 'assistant',
  parts: [],
  tool_calls: ids.map((id) => ({ id, name: 'shell', arguments: '{}' })),
})

describe('the limit on open calls of an imported log', () => {
  test('counts the calls of all loops together; each result allows one more call', () => {
    const log = createNativeImport()
    for (let at = 0; at < 10_000; at++) log.take({ ...native('a'), parent_tool_call_id: `${at % 7}` }, `${at}`)
    log.take({ role: 'tool', tool_call_id: 'a', parent_tool_call_id: '3', parts: [] }, 'result')
    log.take(native('b'), 'b')
    expect(() => log.take(native('c'), 'body.messages[8]')).toThrow(
      'body.messages[8].tool_calls leaves more than 10,000 calls open',
    )
  })

  test('also bounds the total size of messages with open calls since the last input', () => {
    const log = createNativeImport()
    const [long] = native('a').tool_calls
    const message = { ...native('a'), tool_calls: [{ ...long, provider: { other: { data: 'x'.repeat(5_000_000) } } }] }
    for (let turn = 0; turn < 2; turn++) {
      for (let at = 0; at < 13; at++) log.take(message, `${at}`)
      expect(log.take({ role: 'user', parts: [] }, 'input')).toHaveLength(14)
    }
    for (let at = 0; at < 13; at++) log.take(message, `${at}`)
    expect(() => log.take(message, '13')).toThrow('13.tool_calls leaves calls in more than 64 MB open')
  })
})
