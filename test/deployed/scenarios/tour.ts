import { expect, test } from 'vitest'
import { smokeTour } from '../../../functions/cli/commands/smoke-tour.ts'
import type { RunBody, SearchHit } from '../../e2e/backend/client.ts'
import { readEvents } from '../../e2e/backend/event-text.ts'
import type { System } from '../system.ts'
import { within } from './within.ts'
import { FOUND_MS } from './inputs-and-hits.ts'

const BOSS = { name: 'ask_boss', description: 'Asks the boss.', parameters: { type: 'object' } }

/** Scenario of the README's tour over HTTP, through the deployed API. */
export function declareTour(system: () => System): void {
  test('a session is created, and its address works for the caller', async () => {
    const { client } = system()
    const made = await client.send('POST', '/v1/sessions', { id: 'tour', owner: 'you' })
    expect(made.status).toBe(201)
    const location = made.headers.get('location') ?? ''
    expect(new URL(location, client.url).href).toBe(`${client.url}/v1/sessions/tour`)
    expect(await client.get('/v1/sessions/tour')).toMatchObject({ id: 'tour', owner: 'you' })
    expect(await client.get('/v1/sessions?owner=you')).toMatchObject({ data: [{ id: 'tour' }] })
  })

  test('a completion is streamed while the model emits it', async () => {
    const { client } = system()
    const { events, arrivals } = await stream(system(), 'work 3 rounds of 700 ms')
    expect(events[0]).toBe('run.started')
    expect(events.at(-1)).toBe('run.completed')
    expect(events.filter((type) => type === 'tool_call.completed')).toHaveLength(3)
    // The run has four completions of 700 ms each. So the events of the first completion arrive at least three completions before
    // the end.
    const last = arrivals.at(-1)?.at ?? 0
    expect(last - (arrivals.find(({ text }) => text.includes('round.started'))?.at ?? last)).toBeGreaterThan(2_000)
    expect(last - (arrivals.find(({ text }) => text.includes('tool_call.completed'))?.at ?? last)).toBeGreaterThan(
      1_300,
    )
    expect((await client.messages('tour')).map(({ role }) => role).join(' ')).toBe(
      'user assistant tool assistant tool assistant tool assistant',
    )
  })

  test('a run waits for a client tool while every process ends, and the result completes it', async () => {
    const { client, functions } = system()
    const run = await client.post<RunBody>('/v1/sessions/tour/messages', {
      content: 'use ask_boss with {"question": "Ship the blue crates?"} and what time is it at once',
      tools: [BOSS],
    })
    expect(run.status).toBe('paused')
    const [call] = run.waiting
    expect(call?.tool_name).toBe('ask_boss')
    await Promise.all([functions.Api.recycle(), functions.Worker.recycle()])
    const path = `/v1/sessions/tour/runs/${run.id}`
    expect((await client.get<RunBody>(path)).status).toBe('paused')
    const results = [{ tool_call_id: call?.tool_call_id, output: 'Yes, before noon.' }]
    const ended = await client.post<RunBody>(`${path}/tool-results`, { results })
    expect(ended.status).toBe('completed')
    expect(JSON.stringify(ended.messages?.at(-1)?.parts)).toContain('ask_boss said: Yes, before noon.')
  })

  test(`messages and tool calls are found within ${FOUND_MS / 1_000} s, by a person and by the agent`, async () => {
    const { client } = system()
    const hit = await within(FOUND_MS, 'the call and its result', async () => {
      const { data } = await client.get<{ data: SearchHit[] }>('/v1/search?q=blue%20crate')
      return data.find((one) => one.label === 'TOOL CALL' && one.after?.text === 'Yes, before noon.')
    })
    expect(hit.snippet).toBe('ask_boss(question="Ship the «blue crates»?")')
    const run = await client.post<RunBody>('/v1/sessions/tour/messages', { content: 'search history for blue crate' })
    expect(run.messages?.find(({ role }) => role === 'tool')?.status).toBe('completed')
    expect(JSON.stringify(run.messages?.at(-1)?.parts)).toContain('Yes, before noon.')
  })

  test('the log shows the exact requests to the model, with the key from the secret', async () => {
    const { client, model } = system()
    await client.post('/v1/sessions/tour/messages', { content: 'what time is it in Europe/Berlin' })
    const sent = model.bodies().at(-1)?.messages ?? []
    expect((await client.chat('tour')).slice(0, -1)).toStrictEqual(sent)
    expect(model.requests.at(-1)?.headers.authorization).toBe('Bearer from the secret')
  })

  test('the smoke test program passes all seven steps', async () => {
    const { client } = system()
    const steps: string[] = []
    const key = client.headers['authorization']?.replace('Bearer ', '')
    await smokeTour({ url: client.url, key }, (step) => void steps.push(step))
    expect(steps).toHaveLength(7)
  })

  test('the documentation is served compressed, with a link to the API document below the address of the API', async () => {
    const { client } = system()
    const page = await fetch(`${client.url}/docs`)
    expect([page.status, page.headers.get('content-encoding')]).toStrictEqual([200, 'gzip'])
    const [, link = ''] = /href="([^"#]+\.json)"/.exec(await page.text()) ?? []
    const document = await fetch(new URL(link, page.url))
    expect(await document.json()).toMatchObject({ openapi: '3.1.0' })
  })

  test('the page and its script are served below the address of the API, for every view', async () => {
    const { client } = system()
    for (const path of ['/', '/sessions/tour', '/search']) {
      const page = await fetch(`${client.url}${path}`)
      expect([page.status, page.headers.get('content-type')]).toStrictEqual([200, 'text/html; charset=utf-8'])
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      const html = await page.text()
      const [, base = ''] = /<base href="([^"]+)"/.exec(html) ?? []
      const [, script = ''] = /<script[^>]* src="([^"]+)"/.exec(html) ?? []
      const code = await fetch(new URL(script, new URL(base, page.url)))
      expect([code.status, code.headers.get('content-type')]).toStrictEqual([200, 'text/javascript; charset=utf-8'])
    }
  })
}

interface Arrival {
  readonly at: number
  readonly text: string
}

/** Sends an input and follows its run. Returns the types of the events and the arrival time of each chunk. */
async function stream(
  { client }: System,
  content: string,
): Promise<{ readonly events: readonly string[]; readonly arrivals: readonly Arrival[] }> {
  const response = await fetch(`${client.url}/v1/sessions/tour/messages`, {
    method: 'POST',
    headers: { ...client.headers, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ content }),
  })
  const arrivals: Arrival[] = []
  for await (const chunk of response.body as AsyncIterable<Uint8Array>)
    arrivals.push({ at: Date.now(), text: Buffer.from(chunk).toString() })
  return { events: readEvents(arrivals.map(({ text }) => text).join('')).map(({ type }) => type), arrivals }
}
