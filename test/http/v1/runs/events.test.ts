/* Evidence, api: A follower that joins late or returns gets the current round from its start, and gets nothing twice. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { makeTool } from '../../../agent/harness.ts'
import { eventStream, frame } from '../../../../functions/http/streaming/event-stream.ts'
import { createSharedBytes } from '../../../../functions/http/streaming/response-bodies.ts'
import { schemaErrors } from '../../conformance.ts'
import { expectJson, heldTurn, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

interface Frame {
  readonly id: string | undefined
  readonly event: string
  readonly data: { readonly type: string; readonly [field: string]: unknown }
}

const echo = makeTool('echo', async () => ({ text: 'ok' }))
const script = [{ text: 'Let me see.', calls: [{ id: 'c1', name: 'echo' }] }, { text: 'Done.' }]
let harness: HttpHarness
afterEach(() => harness.close())

/** The frames of a stream, each of exactly the three lines (deltas: two) of the format. */
function framesOf(text: string): Frame[] {
  expect(text.endsWith('\n\n')).toBe(true)
  const blocks = text.slice(0, -2).split('\n\n')
  return blocks
    .filter((block) => !block.startsWith(':'))
    .map((block) => {
      const match = /^(?:id: (?<id>[^\n]+)\n)?event: (?<event>[^\n]+)\ndata: (?<data>[^\n]+)$/.exec(block)
      const { id, event = '', data = '' } = match?.groups ?? {}
      return { id, event, data: JSON.parse(data) as Frame['data'] }
    })
}

async function open(...options: Parameters<typeof openHttpHarness>): Promise<void> {
  harness = await openHttpHarness(...options)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
}
const follow = async (path: string, headers: Record<string, string> = {}): Promise<Frame[]> =>
  framesOf(await (await harness.send('GET', path, undefined, headers)).text())

describe('a streamed input', () => {
  let response: Response
  let frames: Frame[]
  beforeEach(async () => {
    await open({ script, tools: [echo] })
    const headers = { accept: 'text/event-stream' }
    response = await harness.send('POST', '/v1/sessions/s/messages', { content: 'hi' }, headers)
    frames = framesOf(await response.text())
  })

  test('has the headers of an event stream', () => {
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    })
  })

  test('shows the run from its start to its end', () => {
    const stored = frames.filter(({ id }) => id !== undefined).map(({ event }) => event)
    expect(stored).toEqual([
      'run.started',
      'message.completed',
      'tool_call.started',
      'tool_call.completed',
      'message.completed',
      'run.completed',
    ])
    expect(frames.filter(({ event }) => event === 'text.delta').map(({ data }) => data['text'])).toEqual([
      'Let me see.',
      'Done.',
    ])
  })

  test("contains the run's id in every event, in the documented format", () => {
    const schema = harness.document.components.schemas['RunEvent'] ?? {}
    for (const { event, data } of frames) {
      expect(data).toMatchObject({ type: event, session_id: 's', run_id: frames[0]?.data['run_id'] })
      expect(schemaErrors(harness.document, schema, data)).toEqual([])
    }
  })

  test('has ids for stored events, and none for deltas', () => {
    for (const { id, event } of frames)
      expect(id).toEqual(
        event.endsWith('.delta') || event.startsWith('round.')
          ? undefined
          : expect.stringMatching(`^[0-9A-Z]{26}:${event}$`),
      )
    const ids = frames.flatMap(({ id }) => id ?? [])
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('can be read again after its end', async () => {
    const again = await follow(`/v1/sessions/s/runs/${String(frames[0]?.data['run_id'])}/events`)
    const stored = frames.filter(({ id }) => id !== undefined)
    expect(again.filter(({ id }) => id !== undefined).map(({ id, event }) => [id, event])).toEqual(
      stored.map(({ id, event }) => [id, event]),
    )
    expect(again.at(-1)).toEqual(frames.at(-1))
  })

  test('is resumed from the round of Last-Event-ID', async () => {
    const path = `/v1/sessions/s/runs/${String(frames[0]?.data['run_id'])}/events`
    const stored = frames.filter(({ id }) => id !== undefined)
    const last = stored.findLast(({ event }) => event === 'message.completed')
    const rest = await follow(path, { 'last-event-id': last?.id ?? '' })
    expect(rest.flatMap(({ id }) => id ?? [])).toEqual(stored.slice(-2).map(({ id }) => id))
  })

  test('is resumed after each of its events with all later events, once and in order', async () => {
    const path = `/v1/sessions/s/runs/${String(frames[0]?.data['run_id'])}/events`
    const ids = frames.flatMap(({ id }) => id ?? [])
    expect(ids.length).toBeGreaterThan(5)
    for (const [place, id] of ids.entries()) {
      const seen = ids.slice(0, place + 1)
      const rest = (await follow(path, { 'last-event-id': id })).flatMap((frame) => frame.id ?? [])
      expect(new Set(rest).size).toBe(rest.length)
      expect([...seen, ...rest.filter((one) => !seen.includes(one))]).toEqual(ids)
    }
  })

  test.each(['rubbish', '01JD2Q8N4T6W8Y0A2C4E6G8J0K:run.started', 'x'.repeat(5_000)])(
    'with a Last-Event-ID that is not one of its own starts at the beginning',
    async (id) => {
      const path = `/v1/sessions/s/runs/${String(frames[0]?.data['run_id'])}/events`
      expect((await follow(path, { 'last-event-id': id }))[0]?.event).toBe('run.started')
    },
  )
})

describe('a stream', () => {
  test('of a waiting run ends with run.paused and the waiting calls', async () => {
    await open({ script: [{ calls: [{ id: 'c1', name: 'ask', arguments: '{"a": 1}' }] }] })
    const response = await harness.send(
      'POST',
      '/v1/sessions/s/messages',
      { content: 'hi', tools: [{ name: 'ask', description: '', parameters: {} }] },
      { accept: 'text/event-stream' },
    )
    expect(framesOf(await response.text()).at(-1)).toMatchObject({
      event: 'run.paused',
      data: { run: { status: 'paused', waiting: [{ tool_call_id: 'c1', arguments: '{"a": 1}', needs: 'result' }] } },
    })
  })

  test('resumes after a warning or a context event, although their ids contain a number', async () => {
    const consolidation = { threshold: 3, keepRecentRatio: 0.5 }
    await open({ script: [{ text: 'one' }, { text: 'two' }], policies: { consolidation } })
    for (const content of ['hi', 'ho']) await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content })
    const { data } = await expectJson<{ data: { id: string }[] }>(harness, 200, 'GET', '/v1/sessions/s/runs')
    const path = `/v1/sessions/s/runs/${data[0]?.id}/events`
    const all = await follow(path)
    const notice = all.find(({ event }) => event === 'context.nearly_full')
    expect(notice?.id).toBe(`${data[0]?.id}:context.nearly_full:0`)
    const rest = await follow(path, { 'last-event-id': notice?.id ?? '' })
    expect(rest.map(({ event }) => event)).not.toContain('run.started')
    expect(rest.at(-1)?.event).toBe('run.completed')
  })

  test('that resumes during a round contains this round, and the round that Last-Event-ID names, from their start', async () => {
    const held = heldTurn()
    await open({ script: [{ text: 'Let me see.', calls: [{ id: 'c1', name: 'echo' }] }, held.turn], tools: [echo] })
    const headers = { prefer: 'wait=0' }
    const { id } = await expectJson<{ id: string }>(
      harness,
      202,
      'POST',
      '/v1/sessions/s/messages',
      { content: 'x' },
      headers,
    )
    await expect.poll(() => harness.requests.length).toBe(2)
    const log = await expectJson<{ data: { id: string }[] }>(harness, 200, 'GET', '/v1/sessions/s/messages?roles=tool')
    const last = `${log.data[0]?.id}:tool_call.completed`
    const late = follow(`/v1/sessions/s/runs/${id}/events`, { 'last-event-id': last })
    // This time is longer than the interval at which the log is polled.
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    held.letGo()
    const frames = await late
    expect(frames.map(({ event }) => event)).toEqual([
      'round.started',
      'message.completed',
      'tool_call.started',
      'tool_call.completed',
      'round.started',
      'text.delta',
      'message.completed',
      'run.completed',
    ])
    expect(frames.find(({ event }) => event === 'text.delta')?.data).toMatchObject({ round: 1, text: 'thinking' })
  })

  test('whose reader leaves does not stop the run', async () => {
    const held = heldTurn()
    await open({ script: [held.turn] })
    const response = await harness.send(
      'POST',
      '/v1/sessions/s/messages',
      { content: 'hi' },
      { accept: 'text/event-stream' },
    )
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    held.letGo()
    await expect
      .poll(async () => (await expectJson(harness, 200, 'GET', '/v1/sessions/s'))['run'])
      .toMatchObject({ status: 'completed' })
  })

  test('ends when the server shuts down, so that its reader reconnects', async () => {
    const held = heldTurn()
    await open({ script: [held.turn] })
    const response = await harness.send(
      'POST',
      '/v1/sessions/s/messages',
      { content: 'hi' },
      { accept: 'text/event-stream' },
    )
    const text = response.text()
    const stopped = harness.program.stop()
    expect((await text).endsWith(': reconnect\n\n')).toBe(true)
    await expectJson(harness, 503, 'POST', '/v1/sessions/s/messages', { content: 'hi' })
    held.letGo()
    await stopped
  })
})

describe('the heartbeat', () => {
  test('is a comment every 15 seconds, whatever else is sent', async () => {
    await open()
    const sleeps: number[] = []
    let wake = (): void => {}
    const clock = {
      now: () => 0,
      sleep: (milliseconds: number) => {
        sleeps.push(milliseconds)
        return new Promise<void>((resolve) => (wake = resolve))
      },
    }
    const { signal } = new AbortController()
    const left = new AbortController()
    const log = harness.ports.logger
    const closed = vi.fn<() => Promise<void>>()
    const call = { signal, close: closed }
    const parts = { clock, log, stopping: signal, texts: createSharedBytes().of('acme') }
    const response = eventStream(parts, left.signal, call, async function* events(ending) {
      yield frame({ event: 'round.started', data: { text: 'a\nb' } })
      await new Promise((resolve) => ending.addEventListener('abort', resolve))
    })
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader?.read())?.value).toBe('event: round.started\ndata: {"text":"a\\nb"}\n\n')
    for (let beat = 0; beat < 3; beat++) {
      await expect.poll(() => sleeps.length).toBe(beat + 1)
      wake()
      expect((await reader?.read())?.value).toBe(': ka\n\n')
    }
    expect(new Set(sleeps)).toEqual(new Set([15_000]))
    left.abort()
    expect((await reader?.read())?.done).toBe(true)
    expect(closed).toHaveBeenCalled()
  })

  test('stops when the events fail; the stream then ends without a terminal event', async () => {
    await open()
    const { signal } = new AbortController()
    const { clock, logger } = harness.ports
    const call = { signal, close: async () => undefined }
    const parts = { clock, log: logger, stopping: signal, texts: createSharedBytes().of('acme') }
    // eslint-disable-next-line require-yield
    const response = eventStream(parts, signal, call, async function* events() {
      throw new Error('the storage is gone')
    })
    expect(await response.text()).toBe(': reconnect\n\n')
    expect(harness.lines.filter(({ level }) => level === 'error')).toHaveLength(1)
  })
})
