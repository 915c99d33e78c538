/* Evidence, api: In five stream formats, a stream that is resumed at any event equals the whole stream, in the same order. */
import { parseJsonEventStream, readUIMessageStream, uiMessageChunkSchema } from 'ai'
import { expect, test } from 'vitest'
import { makeTool } from '../../agent/harness.ts'
import { HANG_TIMEOUT_MS } from '../../eventually.ts'
import { fc } from '../../generators/seeded.ts'
import { isWhole } from '../../whole.ts'
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { anyStreamPlan, plannedModel, sleep, withSlowStore } from './planned-stream.ts'
import type { StreamPlan } from './planned-stream.ts'

interface Frame {
  readonly id: string | undefined
  readonly data: { readonly type?: string; readonly [field: string]: unknown }
}

/** Reads the frames of a stream. Disconnects after `limit` frames. */
async function framesOf(response: Response, limit = Infinity): Promise<Frame[]> {
  expect(response.status).toBe(200)
  const frames: Frame[] = []
  let text = ''
  for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const blocks = (text + chunk).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const line = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
      const data = line('data')
      if (data === undefined || data === '[DONE]') continue
      frames.push({ id: line('id'), data: JSON.parse(data) as Frame['data'] })
      if (frames.length >= limit) return frames
    }
  }
  return frames
}

const timeout = (): AbortSignal => AbortSignal.timeout(HANG_TIMEOUT_MS)

/** Sends a request without checking it against the description, because the test sends many requests. */
const ask = async (harness: HttpHarness, path: string, init: RequestInit = {}): Promise<Response> =>
  harness.program.app.fetch(
    new Request(`http://localhost:3000${path}`, {
      ...init,
      headers: { 'content-type': 'application/json', ...init.headers },
      signal: timeout(),
    }),
  )
const post = (harness: HttpHarness, path: string, body: unknown, headers = {}): Promise<Response> =>
  ask(harness, path, { method: 'POST', body: JSON.stringify(body), headers })

/**
 * Plays a stream of our own API. Its stored events have ids. Each prefix of these events, together with the events after the
 * prefix's last id, gives all events.
 */
async function playNative(harness: HttpHarness): Promise<void> {
  const session = 'native'
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: session })
  const streamed = framesOf(
    await post(harness, `/v1/sessions/${session}/messages`, { content: 'Look' }, { accept: 'text/event-stream' }),
  )
  const idsOf = (frames: readonly Frame[]): string[] => frames.flatMap(({ id }) => id ?? [])
  const runOf = async () =>
    (await expectJson<{ run: { id: string } }>(harness, 200, 'GET', `/v1/sessions/${session}`)).run.id
  const path = `/v1/sessions/${session}/runs/${await runOf()}/events`
  const after = async (id: string | undefined, limit?: number) =>
    framesOf(await ask(harness, path, id === undefined ? {} : { headers: { 'last-event-id': id } }), limit)
  /** Event ids that a client receives if it disconnects after each event while the run works. */
  const inPieces: string[] = []
  while (!/:run\.(completed|failed)$/.test(inPieces.at(-1) ?? '')) {
    const fresh = idsOf(await after(inPieces.at(-1), inPieces.length + 9)).filter((id) => !inPieces.includes(id))
    inPieces.push(...fresh.slice(0, 1))
  }
  const whole = idsOf(await streamed)
  expect(inPieces).toEqual(whole)
  expect(idsOf(await after(undefined))).toEqual(whole)
  for (const [place, id] of whole.slice(0, -1).entries()) {
    const prefix = whole.slice(0, place + 1)
    const rest = idsOf(await after(id)).filter((one) => !prefix.includes(one))
    expect([...prefix, ...rest]).toEqual(whole)
  }
}

/**
 * Responses: each prefix of the stream, together with the remainder, gives the texts and arguments of the whole stream. A later
 * read gives the same texts and arguments.
 */
async function playResponses(harness: HttpHarness): Promise<void> {
  const response = await post(harness, '/openai/v1/responses', {
    model: 'default',
    input: 'Look',
    stream: true,
    include: [],
  })
  const begun = framesOf(response.clone(), 1)
  const streamed = framesOf(response)
  const [created] = await begun
  const { id } = (created?.data['response'] ?? {}) as { readonly id?: string }
  const after = async (number: number, limit?: number) =>
    framesOf(await ask(harness, `/openai/v1/responses/${id}?stream=true&starting_after=${number}`), limit)
  const numberOf = (frame: Frame | undefined): number => Number(frame?.data['sequence_number'] ?? 0)
  const inPieces: Frame[] = [...(await begun)]
  while (inPieces.at(-1)?.data.type !== 'response.completed')
    inPieces.push(...(await after(numberOf(inPieces.at(-1)), 1)))
  const frames = await streamed
  const whole = outputOf(frames)
  const last = frames.at(-1)?.data as { response?: { output?: unknown } }
  expect(outputOf(inPieces)).toEqual(whole)
  expect((await expectJson(harness, 200, 'GET', `/openai/v1/responses/${id}`))['output']).toEqual(last.response?.output)
  for (const [place, frame] of frames.slice(0, -1).entries())
    expect(outputOf([...frames.slice(0, place + 1), ...(await after(numberOf(frame)))])).toEqual(whole)
}

/** Output that a client assembles: texts and arguments by their index, and the items as they are added. */
function outputOf(frames: readonly Frame[]): unknown {
  const texts: string[] = []
  const items: unknown[] = []
  for (const { data } of frames) {
    const index = Number(data['output_index'])
    if (typeof data['delta'] === 'string') texts[index] = (texts[index] ?? '') + data['delta']
    if (data.type === 'response.output_item.done') items[index] = data['item']
  }
  return { texts, items }
}

/** AI SDK: a stream resumed from its start builds the same message as the live stream and as the chat loaded later. */
async function playUi(harness: HttpHarness): Promise<void> {
  const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Look' }] }
  const response = await post(harness, '/v1/chat', { id: 'ui', messages: [message], trigger: 'submit-message', sdk: 7 })
  const resumed: Promise<unknown>[] = []
  const live = partsOf(response.clone())
  for await (const _ of response.body ?? new ReadableStream()) {
    const again = await ask(harness, '/v1/chat/ui/stream')
    if (again.status === 200) resumed.push(partsOf(again))
  }
  const parts = await live
  for (const one of resumed) expect(await one).toEqual(parts)
  const chat = (await (await ask(harness, '/v1/chat/ui')).json()) as { role: string; parts: readonly UiPart[] }[]
  expect(chat.find(({ role }) => role === 'assistant')?.parts.map(shownPart)).toEqual(parts)
}

interface UiPart {
  readonly type: string
  readonly [field: string]: unknown
}

const shownPart = ({ type, text, toolCallId, input, output }: UiPart) => ({ type, text, toolCallId, input, output })

async function partsOf(response: Response): Promise<unknown> {
  if (response.body === null) throw new Error('the response has no body')
  const chunks = parseJsonEventStream({ stream: response.body, schema: uiMessageChunkSchema })
  const stream = chunks.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        if (!chunk.success) throw chunk.error
        controller.enqueue(chunk.value)
      },
    }),
  )
  let last: readonly UiPart[] = []
  for await (const message of readUIMessageStream({ stream })) last = message.parts as unknown as readonly UiPart[]
  return last.map(shownPart)
}

/** AG-UI: a repeated request gets the same events, during its run and later. */
async function playAgUi(harness: HttpHarness): Promise<void> {
  const body = {
    ...{ threadId: 'ag-ui', runId: 'r1', state: {}, tools: [], context: [], forwardedProps: {} },
    messages: [{ id: 'm1', role: 'user', content: 'Look' }],
  }
  const send = () => post(harness, '/v1/ag-ui/default', body)
  const response = await send()
  const again: Promise<unknown>[] = []
  const live = framesOf(response.clone())
  for await (const _ of response.body ?? new ReadableStream()) again.push(send().then(framesOf).then(joined))
  const whole = joined(await live)
  for (const one of [...again, send().then(framesOf).then(joined)]) expect(await one).toEqual(whole)
}

/** Merges neighbouring deltas of one message, because a text may be split differently. */
function joined(frames: readonly Frame[]): unknown {
  const events: Record<string, unknown>[] = []
  for (const { data } of frames) {
    const before = events.at(-1)
    const isSame = before?.['type'] === data.type && before?.['messageId'] === data['messageId']
    if (before !== undefined && isSame && 'delta' in data)
      before['delta'] = `${String(before['delta'])}${String(data['delta'])}`
    else events.push({ ...data })
  }
  return events
}

/** Chat Completions: a repeated request joins the run of the first request, and gets the same text. */
async function playChat(harness: HttpHarness): Promise<void> {
  const body = { model: 'default', stream: true, user: 'chat', messages: [{ role: 'user', content: 'Look' }] }
  const send = () => post(harness, '/openai/v1/chat/completions', body, { 'idempotency-key': 'once' })
  const response = await send()
  const live = framesOf(response.clone())
  const again: Promise<string>[] = []
  for await (const _ of response.body ?? new ReadableStream()) again.push(send().then(framesOf).then(chatText))
  const whole = chatText(await live)
  for (const one of [...again, send().then(framesOf).then(chatText)]) expect(await one).toBe(whole)
}

const chatText = (frames: readonly Frame[]): string =>
  frames
    .map(({ data }) => (data as { choices?: { delta?: { content?: string } }[] }).choices?.[0]?.delta?.content ?? '')
    .join('')

async function playPlan(plan: StreamPlan): Promise<void> {
  const harness = await openHttpHarness({
    tools: [
      makeTool('look', async (input) => {
        const { delay } = input as { readonly delay: number }
        await sleep(delay)
        return { text: `seen after ${delay}` }
      }),
    ],
    script: Array.from({ length: 50 }, () => plannedModel(plan)),
    change: withSlowStore(plan.storeMs),
  })
  try {
    await Promise.all([playNative, playResponses, playUi, playAgUi, playChat].map((play) => play(harness)))
  } finally {
    await harness.close()
  }
}

test('a stream that is read in two requests equals the whole stream, in each format, live and stored', async () => {
  await fc.assert(fc.asyncProperty(anyStreamPlan, playPlan), { numRuns: isWhole ? 100 : 8, endOnFailure: true })
})
