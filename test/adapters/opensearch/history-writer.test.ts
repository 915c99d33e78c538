/* Evidence, limits: Writing to OpenSearch blocks no request of its process. */
import { expect, test } from 'vitest'
import { writeTo } from '../../../functions/adapters/opensearch/history-writer.ts'
import type { Send } from '../../../functions/adapters/opensearch/requests.ts'
import type { HistoryDocument } from '../../../functions/domain/history.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'

const KEY = { tenant: 'acme', session: 's' }
const document = (part: string): HistoryDocument => {
  const text = 'aB \u{1F600}=> x1y2 '.repeat(100)
  return { ...KEY, runId: 'r', messageId: 'm', part, role: 'user', agent: 'default', text, time: 0 }
}

/** Creates an engine that accepts every operation and records the lines of all requests. */
function storing(): { readonly send: Send; readonly lines: string[] } {
  const lines: string[] = []
  const send: Send = async (request) => {
    lines.push(...(request.lines ?? []))
    const actions = (request.lines ?? []).filter((line) => /^\{"(?:index|delete)":/.test(line))
    return { status: 200, body: { items: actions.map(() => ({ index: { status: 200 } })) } }
  }
  return { send, lines }
}

test('a write yields to the event loop between documents, and builds each document once for all indexes', async () => {
  const { send, lines } = storing()
  const indexDeadLetters = { send: () => Promise.reject(new Error('nothing is refused')) }
  let turns = 0
  const count = (): void => void (turns++, (counting = setImmediate(count)))
  let counting = setImmediate(count)
  const documents = Array.from({ length: 50 }, (_, place) => document(`r${place}`))
  const change = { key: KEY, messageId: 'm', revision: 1, documents, removed: ['r50'] }
  const outcomes = await writeTo(['old', 'new'], [change], { send, clock: createSystemClock(), indexDeadLetters })
  clearImmediate(counting)
  expect(outcomes).toEqual([{ done: true }])
  expect(turns).toBeGreaterThanOrEqual(50)
  const sent = lines.filter((line) => line.includes('"_index"'))
  expect(sent.filter((line) => line.includes('"_index":"old"')).length).toBe(51)
  expect(sent.filter((line) => line.includes('"_index":"new"')).length).toBe(51)
  expect(new Set(lines.filter((line) => !line.includes('"_index"'))).size).toBe(50)
})
