/* Evidence, limits: Pages, runs and contexts are built two at a time, and concurrent equal requests share one result. */
import { afterEach, expect, test } from 'vitest'
import type { LogReader } from '../../../functions/ports/log-reader.ts'
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

let harness: HttpHarness | undefined
afterEach(() => harness?.close())

/** Number of reads of the log. */
let reads = 0
function counted(reader: LogReader): LogReader {
  const count = <Words extends unknown[], Result>(read: (...words: Words) => Result) => {
    return (...words: Words): Result => {
      reads++
      return read(...words)
    }
  }
  return {
    ...reader,
    run: count(reader.run),
    runs: count(reader.runs),
    message: count(reader.message),
    messages: count(reader.messages),
  }
}

test.each([
  ['the context of the next request', 'v1/sessions/s/context'],
  ['a run', 'v1/sessions/s/runs/RUN'],
  ['a page of runs', 'v1/sessions/s/runs'],
  ['a page of items', 'openai/v1/conversations/s/items'],
])('%s, which may be long, is built at most three times for 50 concurrent requests', async (_what, path) => {
  harness = await openHttpHarness({ change: (ports) => ({ ...ports, reader: counted(ports.reader) }) })
  const { send } = harness
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const { id } = await expectJson<{ id: string }>(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'go' })
  const ask = async (): Promise<string> => (await send('GET', `/${path.replace('RUN', id)}`)).text()
  const alone = await ask()
  reads = 0
  await ask()
  const ofOne = reads
  reads = 0
  const answers = await Promise.all(Array.from({ length: 50 }, ask))
  expect(new Set(answers)).toEqual(new Set([alone]))
  expect(reads).toBeLessThanOrEqual(3 * ofOne)
})
