/* Evidence, clients: The client throws a 429 with a long retry time at once, and any other 429 after three requests. */
/* Evidence, clients: `tooltrail/client` yields each stored event once, even if its connection breaks. */
import { createClient as packagedClient } from 'tooltrail/client'
import { afterEach, describe, expect, test } from 'vitest'
import { createClient } from '../../functions/client/client.ts'
import type { RunEvent } from '../../functions/client/api-types.ts'
import { ApiProblem } from '../../functions/client/problem.ts'
import { completionOf } from '../agent/harness.ts'
import { heldTurn, openHttpHarness, type HttpHarness } from '../http/harness.ts'

let harness: HttpHarness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})

type Fetch = typeof globalThis.fetch

/** Sends requests to the app in this process; `change` sees each response. */
function fetchOf(opened: HttpHarness, change: (response: Response, count: number) => Response = (same) => same): Fetch {
  let count = 0
  return async (input, init) => change(await opened.program.app.fetch(new Request(input as string, init)), count++)
}

const clientOf = (opened: HttpHarness, change?: (response: Response, count: number) => Response, key?: string) =>
  createClient({ url: 'http://localhost:3000/', key, fetch: fetchOf(opened, change) })

async function collect(events: AsyncIterable<{ readonly event: RunEvent }>): Promise<RunEvent[]> {
  const all: RunEvent[] = []
  for await (const { event } of events) all.push(event)
  return all
}

/** Returns a response whose connection breaks after this number of bytes. */
function brokenAfter(response: Response, bytes: number): Response {
  let left = bytes
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left))
      left -= chunk.length
      if (left <= 0) controller.error(new TypeError('network error'))
    },
  })
  return new Response(response.body?.pipeThrough(cut) ?? null, response)
}

const answer = (text: string) =>
  async function* () {
    yield { type: 'text.delta', part: 0, text } as const
    yield { type: 'completion', completion: completionOf({ text }) } as const
  }

describe('the client', () => {
  test('reads a list again only if the list has changed', async () => {
    harness = await openHttpHarness()
    const client = clientOf(harness)
    await client.createSession({ id: 'a', metadata: { folder: '/shop', n: 5 } })
    const query = { 'metadata.folder': '/sh*', 'metadata.n': '5' }
    const first = await client.listChangedSessions(query, undefined)
    expect(first?.page.data.map(({ id }) => id)).toEqual(['a'])
    expect(await client.listChangedSessions(query, first?.etag)).toBeUndefined()
    await client.changeSession('a', { title: 'Renamed' })
    expect((await client.listChangedSessions(query, first?.etag))?.page.data).toMatchObject([{ title: 'Renamed' }])
  })

  test('creates a session, sends a message, reads the log and searches', async () => {
    harness = await openHttpHarness({ script: [answer('blue crates')] })
    const client = clientOf(harness)
    const session = await client.createSession({ id: 'a.b:c', owner: 'you' })
    const events = await collect(client.streamMessage(session.id, { content: 'hi' }))
    expect(events[0]?.type).toBe('run.started')
    expect(events.at(-1)?.type).toBe('run.completed')
    const { data } = await client.listMessages(session.id, { limit: 10 })
    expect(data.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect((await client.search({ q: 'crates' })).data[0]?.snippet).toContain('«crates»')
    expect((await client.listSessions({ owner: 'you', agent: undefined })).data.map(({ id }) => id)).toEqual(['a.b:c'])
    expect((await client.readUsage()).data[0]?.completions).toBe(1)
  })

  test('yields each stored event once, whenever the connection is lost', async () => {
    harness = await openHttpHarness({ script: [answer('one'), answer('two'), answer('three')] })
    let losses = 0
    for (const bytes of [0, 1, 200, 700, 1_500, 2_500]) {
      const broken = clientOf(harness, (response, count) => (count === 0 ? brokenAfter(response, bytes) : response))
      await clientOf(harness).createSession({ id: `s${bytes}` })
      const lost: unknown[] = []
      const onLost = (reason: unknown): void => void lost.push(reason)
      const events = await collect(broken.streamMessage(`s${bytes}`, { content: 'hi' }, { onLost }))
      const stored = events.filter(({ type }) => !type.endsWith('.delta') && !type.startsWith('round.'))
      expect(stored.map(({ type }) => type)).toEqual(['run.started', 'message.completed', 'run.completed'])
      losses += lost.length
      expect((await clientOf(harness).listRuns(`s${bytes}`)).data.length).toBe(1)
    }
    expect(losses).toBeGreaterThanOrEqual(5)
  })

  test('follows a run through its earlier pauses, and ends at the unresolved pause', async () => {
    harness = await openHttpHarness({ script: [{ calls: [{ id: 'c1', name: 'ask' }] }, answer('done')] })
    const client = clientOf(harness)
    await client.createSession({ id: 's' })
    const tools = [{ name: 'ask', description: 'Asks.', parameters: { type: 'object' } }]
    const first = await collect(client.streamMessage('s', { content: 'hi', tools }))
    expect(first.at(-1)?.type).toBe('run.paused')
    const run = first[0]?.run_id ?? ''
    expect((await collect(client.follow('s', run))).at(-1)?.type).toBe('run.paused')
    await client.sendToolResults('s', run, { results: [{ tool_call_id: 'c1', output: 'yes' }] })
    const types = (await collect(client.follow('s', run))).map(({ type }) => type)
    expect(types.filter((type) => type.startsWith('run.'))).toEqual([
      'run.started',
      'run.paused',
      'run.resumed',
      'run.completed',
    ])
  })

  test('reports a restarted round if deltas may be repeated after a lost connection', async () => {
    const held = heldTurn()
    harness = await openHttpHarness({ script: [held.turn] })
    await clientOf(harness).createSession({ id: 's' })
    const broken = clientOf(harness, (response, count) =>
      count === 0 ? brokenAfterText(response, 'thinking') : response,
    )
    const events = await collect(broken.streamMessage('s', { content: 'hi' }, { onLost: () => held.letGo() }))
    const types = events.map(({ type }) => type)
    expect(types.indexOf('round.restarted')).toBeGreaterThan(types.indexOf('text.delta'))
    expect(types.at(-1)).toBe('run.completed')
  })

  test('ends without an error when it is aborted', async () => {
    const held = heldTurn()
    harness = await openHttpHarness({ script: [held.turn] })
    const client = clientOf(harness)
    await client.createSession({ id: 's' })
    const leaving = new AbortController()
    const seen: string[] = []
    for await (const { event } of client.streamMessage('s', { content: 'hi' }, { signal: leaving.signal })) {
      seen.push(event.type)
      if (event.type === 'text.delta') leaving.abort()
    }
    expect(seen.at(-1)).toBe('text.delta')
    held.letGo()
  })

  test("throws the API's errors with code, status and paths, and does not retry", async () => {
    harness = await openHttpHarness()
    const client = clientOf(harness)
    await expect(client.readSession('nowhere')).rejects.toMatchObject({ code: 'session_not_found', status: 404 })
    const refused = client.createSession({ id: '!' }).catch((error: unknown) => error)
    expect((await refused) as ApiProblem).toBeInstanceOf(ApiProblem)
    expect(((await refused) as ApiProblem).problem.errors?.[0]?.path).toBe('body.id')
    await expect(collect(client.follow('nowhere', '01JD2Q8N4T6W8Y0A2C4E6G8J0K'))).rejects.toMatchObject({ status: 404 })
  })

  test('throws a 429 with a long retry time at once, and any other 429 after three requests', async () => {
    const refusals = { tenant_budget_used_up: 77_000, too_many_active_runs: 0 }
    for (const [code, seconds] of Object.entries(refusals)) {
      let requests = 0
      const fetch = async (): Promise<Response> => {
        requests++
        const headers = { 'content-type': 'application/problem+json', 'retry-after': String(seconds) }
        const problem = { type: `urn:tooltrail:problem:${code}`, status: 429, detail: 'too much' }
        return new Response(JSON.stringify(problem), { status: 429, headers })
      }
      const lost: unknown[] = []
      const client = createClient({ url: 'http://localhost:3000', fetch })
      const followed = collect(client.streamMessage('s', { content: 'hi' }, { onLost: (reason) => lost.push(reason) }))
      await expect(followed).rejects.toMatchObject({ code, status: 429 })
      expect([requests, lost.length]).toEqual(seconds === 0 ? [3, 2] : [1, 0])
    }
  })

  test('reports an unexpected response of a proxy in front of the API', async () => {
    const client = createClient({
      url: 'http://localhost:3000',
      fetch: async () => new Response('<h1>Bad gateway</h1>', { status: 502 }),
    })
    await expect(client.readSession('s')).rejects.toMatchObject({ code: 'unexpected_response', status: 502 })
  })

  test('reports that the response is not from the API, and sends no further requests', async () => {
    let requests = 0
    const fetch = async (): Promise<Response> => {
      requests++
      return new Response('<h1>Hello</h1>', { headers: { 'content-type': 'text/html' } })
    }
    const client = createClient({ url: 'http://localhost:3000', fetch })
    await expect(client.readSession('s')).rejects.toMatchObject({ code: 'unexpected_response', status: 200 })
    const followed = collect(client.streamMessage('s', { content: 'hi' }))
    await expect(followed).rejects.toMatchObject({ code: 'unexpected_response', status: 200 })
    expect(requests).toBe(2)
  })

  test('exports a log and imports it, as a text and as a stream', async () => {
    harness = await openHttpHarness({ script: [answer('blue crates')] })
    const client = clientOf(harness)
    await client.createSession({ id: 'from' })
    await collect(client.streamMessage('from', { content: 'hi' }))
    const exported = await client.exportSession('from')
    const whole = await exported.clone().text()
    await Promise.all(['a', 'b'].map((id) => client.createSession({ id })))
    expect(await client.importMessages('a', exported.body ?? '')).toMatchObject({ object: 'import', messages: 2 })
    const query = { source: 'b', from: 0 }
    expect(await client.importMessages('b', whole, query)).toMatchObject({ messages: 2, total: 2 })
    expect(await client.importMessages('b', '\n', query)).toMatchObject({ messages: 0, total: 2 })
    await expect(client.importMessages('a', '{"role": "parrot"}')).rejects.toMatchObject({ code: 'invalid_import' })
  })

  test('sends its key with each request', async () => {
    harness = await openHttpHarness()
    const { authorization } = await harness.key()
    await expect(clientOf(harness).listSessions()).rejects.toMatchObject({ code: 'unauthorized' })
    expect((await clientOf(harness, undefined, authorization.slice(7)).listSessions()).data).toEqual([])
  })

  test('is the module that packages import as tooltrail/client', async () => {
    harness = await openHttpHarness()
    const client = packagedClient({ url: 'http://localhost:3000', fetch: fetchOf(harness) })
    expect((await client.createSession({ id: 's' })).id).toBe('s')
  })
})

/** Returns a response whose connection breaks after the chunk with this text. */
function brokenAfterText(response: Response, text: string): Response {
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk)
      if (new TextDecoder().decode(chunk).includes(text)) setTimeout(() => controller.error(new TypeError('reset')), 20)
    },
  })
  return new Response(response.body?.pipeThrough(cut) ?? null, response)
}
