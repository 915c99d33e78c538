import { expect, test } from 'vitest'
import { bulk, type Operation } from '../../../functions/adapters/opensearch/bulk.ts'
import type { Response, Request } from '../../../functions/adapters/opensearch/requests.ts'

const clock = { now: () => 0, sleep: () => Promise.resolve() }
const store = (id: string): Operation => ({ index: 'i', id, version: 3, source: { text: id } })
const remove = (id: string): Operation => ({ index: 'i', id, version: 4 })

/** Creates an engine with statuses by operation id. Each request uses the id's next status; the last one repeats. */
function engine(statuses: Readonly<Record<string, readonly (number | Readonly<Record<string, unknown>>)[]>>) {
  const seen = new Map<string, number>()
  const requests: Request[] = []
  const send = async (request: Request): Promise<Response> => {
    requests.push(request)
    const metas = (request.lines ?? []).flatMap((line) => {
      const parsed = JSON.parse(line) as Record<string, { _id: string } | undefined>
      const meta = parsed['index'] ?? parsed['delete']
      return meta?._id === undefined ? [] : [meta._id]
    })
    const items = metas.map((id) => {
      const list = statuses[id] ?? [201]
      const turn = seen.get(id) ?? 0
      seen.set(id, turn + 1)
      const item = list[Math.min(turn, list.length - 1)]
      return { index: typeof item === 'number' ? { status: item } : item }
    })
    return { status: 200, body: { items } }
  }
  return { send, requests, tries: (id: string) => seen.get(id) ?? 0 }
}

test('an item is not sent again if it was stored, is outdated or was already deleted', async () => {
  const { send, tries } = engine({ a: [201], b: [200], c: [409], d: [404] })
  const outcomes = await bulk(send, clock, [store('a'), store('b'), store('c'), remove('d')])
  expect(outcomes).toEqual([{ kind: 'done' }, { kind: 'done' }, { kind: 'done' }, { kind: 'done' }])
  expect(['a', 'b', 'c', 'd'].map(tries)).toEqual([1, 1, 1, 1])
})

test('if the engine is busy or failing, only the items that it rejected are sent again', async () => {
  const { send, tries } = engine({ a: [429, 503, 201], b: [201] })
  expect(await bulk(send, clock, [store('a'), store('b')])).toEqual([{ kind: 'done' }, { kind: 'done' }])
  expect([tries('a'), tries('b')]).toEqual([3, 1])
})

test('an item is reported as failed if the engine stays busy after a few attempts', async () => {
  const { send, tries } = engine({ a: [429] })
  expect(await bulk(send, clock, [store('a'), store('b')])).toMatchObject([{ kind: 'failed' }, { kind: 'done' }])
  expect(tries('a')).toBe(5)
})

test('an item that the engine rejects permanently is reported with its reason and not retried', async () => {
  const error = { type: 'mapper_parsing_exception', reason: 'failed to parse field [time]' }
  const { send, tries } = engine({ a: [{ status: 400, error }] })
  const [outcome] = await bulk(send, clock, [store('a')])
  expect(outcome).toEqual({ kind: 'refused', error: `400: ${error.type}: ${error.reason}` })
  expect(tries('a')).toBe(1)
})

test('an index that is missing or forbidden does not count as an error of the document', async () => {
  const gone = { status: 404, error: { type: 'index_not_found_exception', reason: 'no such index [i]' } }
  const { send } = engine({ a: [gone], b: [gone], c: [403] })
  expect(await bulk(send, clock, [store('a'), remove('b'), store('c')])).toMatchObject([
    { kind: 'failed' },
    { kind: 'failed' },
    { kind: 'failed' },
  ])
})

test('a request without a response is sent again', async () => {
  const { send } = engine({})
  let lost = 2
  const outcomes = await bulk(
    async (request) => {
      if (lost-- > 0) throw new Error('connection reset')
      return send(request)
    },
    clock,
    [store('a')],
  )
  expect(outcomes).toEqual([{ kind: 'done' }])
})

test('a request that is refused as a whole is split, so that only its faulty documents are refused', async () => {
  const { send } = engine({})
  const outcomes = await bulk(
    async (request) =>
      request.lines?.some((line) => line.includes('"_id":"bad"')) === true
        ? { status: 400, body: 'malformed' }
        : send(request),
    clock,
    ['a', 'b', 'bad', 'c'].map(store),
  )
  expect(outcomes.map(({ kind }) => kind)).toEqual(['done', 'done', 'refused', 'done'])
})

test('requests stay below the engine’s limits, and each document is sent with its version', async () => {
  const { send, requests } = engine({})
  const long = (id: string): Operation => ({ index: 'i', id, version: 7, source: { text: 'x'.repeat(100_000) } })
  const operations = [
    ...Array.from({ length: 100 }, (_, at) => long(`l${at}`)),
    ...Array.from({ length: 900 }, (_, at) => store(`s${at}`)),
  ]
  const outcomes = await bulk(send, clock, operations)
  expect(outcomes.every(({ kind }) => kind === 'done')).toBe(true)
  for (const { lines = [] } of requests) {
    expect(lines.join('\n').length).toBeLessThan(3_100_000)
    expect(lines.length).toBeLessThanOrEqual(1_000)
  }
  const metas = requests.flatMap(({ lines = [] }) => lines.filter((line) => line.startsWith('{"index"')))
  expect(metas).toHaveLength(1_000)
  for (const meta of metas) expect(meta).toContain('"version_type":"external"')
})
