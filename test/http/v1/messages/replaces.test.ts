/* Evidence, replay: A run that replaces earlier ones is requested without their messages; lists and the log keep them. */
/* Evidence, api: A `replaces` that is malformed, unknown, foreign or of a running run is refused and stores nothing. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeTool } from '../../../agent/harness.ts'
import { PNG } from '../../../fixtures/png.ts'
import { expectJson, heldTurn, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

interface Message {
  readonly id: string
  readonly run_id: string
  readonly role: string
  readonly superseded_by?: string
  readonly parts: readonly {
    readonly type: string
    readonly text?: string
    readonly id?: string
    readonly url?: string
  }[]
}
interface Run {
  readonly id: string
  readonly superseded_by?: string
  readonly messages?: readonly Message[]
}
interface Page<Entry> {
  readonly data: readonly Entry[]
  readonly next: string | null
}

const MESSAGES = '/v1/sessions/s/messages'

let harness: HttpHarness
afterEach(() => harness.close())

async function open(...options: Parameters<typeof openHttpHarness>): Promise<void> {
  harness = await openHttpHarness(...options)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
}

const say = (body: object, headers?: Record<string, string>): Promise<Run> =>
  expectJson<Run>(harness, 200, 'POST', MESSAGES, body, headers)
const list = async <Entry>(path: string): Promise<readonly Entry[]> =>
  (await expectJson<Page<Entry>>(harness, 200, 'GET', path)).data
const textOf = ({ parts }: Message): string => parts.map(({ text }) => text ?? '').join('')
/** The texts of the last request to the model. */
const lastRequest = (): string[] =>
  (harness.requests.at(-1)?.messages ?? []).flatMap((message) =>
    message.role === 'tool' ? [] : [message.parts.map((part) => ('text' in part ? part.text : '')).join('')],
  )

describe('a run that replaces others', () => {
  test('with content follows the messages that precede the replaced run', async () => {
    await open({ script: [{ text: 'A1' }, { text: 'A2' }, { text: 'A3' }, { text: 'A4' }, { text: 'A5' }] })
    await say({ content: 'one' })
    const second = await say({ content: 'two' })
    await say({ content: 'three' })
    const fourth = await say({ content: 'two, again', replaces: second.id })
    expect(lastRequest()).toEqual(['one', 'A1', 'two, again'])
    await say({ content: 'five' })
    expect(lastRequest()).toEqual(['one', 'A1', 'two, again', 'A4', 'five'])
    const messages = await list<Message>(MESSAGES)
    expect(messages.map((message) => [textOf(message), message.superseded_by])).toEqual([
      ['one', undefined],
      ['A1', undefined],
      ...['two', 'A2', 'three', 'A3'].map((text) => [text, fourth.id]),
      ...['two, again', 'A4', 'five', 'A5'].map((text) => [text, undefined]),
    ])
    const runs = await list<Run>('/v1/sessions/s/runs')
    expect(runs.map((run) => run.superseded_by)).toEqual([undefined, undefined, fourth.id, fourth.id, undefined])
    expect(await expectJson(harness, 200, 'GET', `/v1/sessions/s/runs/${second.id}`)).toMatchObject({
      superseded_by: fourth.id,
    })
    expect(await expectJson(harness, 200, 'GET', '/v1/sessions/s')).toMatchObject({ message_count: 6 })
  })

  test('without content gets the input and media of the replaced run, also over several replacements', async () => {
    await open({ script: [{ text: 'A1' }, { text: 'A2' }, { text: 'A3' }] })
    const image = { type: 'image', media_type: 'image/png', data: PNG }
    const content = [{ type: 'text', text: 'What is it?' }, image]
    const first = await say({ content, user: 'ann', metadata: { from: 'test' } })
    const second = await say({ replaces: first.id })
    const third = await say({ replaces: second.id })
    const inputs = (await list<Message>(MESSAGES)).filter(({ role }) => role === 'user')
    expect(inputs.map(({ superseded_by: by }) => by)).toEqual([second.id, third.id, undefined])
    const [one, , three] = inputs
    expect(three).toMatchObject({ user: 'ann', metadata: { from: 'test' } })
    expect(three?.parts.map(({ type, id }) => [type, id])).toEqual(one?.parts.map(({ type, id }) => [type, id]))
    const media = await harness.send('GET', three?.parts[1]?.url ?? '')
    expect(Buffer.from(await media.arrayBuffer()).toString('base64')).toBe(PNG)
    const sent = harness.requests.at(-1)?.messages
    expect(sent).toHaveLength(1)
    expect(sent?.[0]?.parts).toMatchObject([{ type: 'text' }, { type: 'image' }])
  })

  test('replaces rounds with tool calls, and a run that failed', async () => {
    const echo = makeTool('echo', async () => ({ text: 'echoed' }))
    await open({
      tools: [echo],
      script: [
        { calls: [{ id: 'c1', name: 'echo', arguments: '{}' }] },
        { text: 'A1' },
        async function* fails() {
          yield* []
          throw new Error('the model broke')
        },
        { text: 'A3' },
      ],
    })
    const first = await say({ content: 'one' })
    const second = await say({ content: 'two' })
    expect(second).toMatchObject({ status: 'failed' })
    await say({ replaces: second.id })
    expect(lastRequest()).toEqual(['one', '', 'A1', 'two'])
    await say({ content: 'anew', replaces: first.id })
    expect(harness.requests.at(-1)?.messages).toHaveLength(1)
  })

  test('a run that is replaced twice shows its first replacement as `superseded_by`', async () => {
    await open()
    const first = await say({ content: 'one' })
    const second = await say({ replaces: first.id })
    const third = await say({ replaces: first.id })
    const runs = await list<Run>('/v1/sessions/s/runs')
    expect(runs.map((run) => run.superseded_by)).toEqual([undefined, third.id, second.id])
  })

  test('a repeated request with the same key returns the same run, also after the run has ended', async () => {
    await open()
    const first = await say({ content: 'one' })
    const key = { 'idempotency-key': 'again-1' }
    const second = await say({ replaces: first.id }, key)
    const again = await say({ replaces: first.id }, key)
    expect(again.id).toBe(second.id)
    expect(await list<Run>('/v1/sessions/s/runs')).toHaveLength(2)
    await expectJson(harness, 409, 'POST', MESSAGES, { replaces: second.id }, key)
    expect(await list<Run>('/v1/sessions/s/runs')).toHaveLength(2)
  })

  test('the replacement of a steered run gets the first input and the steering inputs', async () => {
    const { promise, resolve: letGo } = Promise.withResolvers<{ text: string }>()
    const slow = makeTool('slow', () => promise)
    await open({ tools: [slow], script: [{ calls: [{ id: 'c', name: 'slow', arguments: '{}' }] }] })
    const pending = say({ content: 'one' })
    await expect.poll(async () => (await list<Message>(MESSAGES)).length).toBe(3)
    await expectJson(harness, 202, 'POST', MESSAGES, { content: 'more', on_busy: 'steer' }, { prefer: 'respond-async' })
    letGo({ text: 'slow' })
    const run = await pending
    await say({ replaces: run.id })
    expect(lastRequest()).toEqual(['onemore'])
  })
})

describe('lists without superseded messages', () => {
  beforeEach(async () => {
    await open({ script: [{ text: 'A1' }, { text: 'A2' }, { text: 'A3' }, { text: 'A4' }, { text: 'A5' }] })
    await say({ content: 'one' })
    const second = await say({ content: 'two' })
    await say({ content: 'three' })
    await say({ content: 'four', replaces: second.id })
    await say({ content: 'five' })
  })
  const CURRENT = ['one', 'A1', 'four', 'A4', 'five', 'A5']

  test.each([1, 2, 3, 4, 5, 100])('are complete in pages of %i, in both orders', async (limit) => {
    for (const order of ['asc', 'desc']) {
      const found: string[] = []
      for (let after = ''; ;) {
        const path = `${MESSAGES}?superseded=false&limit=${limit}&order=${order}${after}`
        const page = await expectJson<Page<Message>>(harness, 200, 'GET', path)
        found.push(...page.data.map(textOf))
        expect(page.data.length).toBeLessThanOrEqual(limit)
        if (page.next === null) break
        after = `&after=${page.next}`
      }
      expect(found).toEqual(order === 'asc' ? CURRENT : CURRENT.toReversed())
    }
  })

  test('are also available in the Chat Completions format, and around a message', async () => {
    const chat = await list<{ content: string }>(`${MESSAGES}?superseded=false&format=openai`)
    expect(chat.map(({ content }) => content)).toEqual(['Be brief.', ...CURRENT])
    const messages = await list<Message>(MESSAGES)
    const four = messages.find((message) => textOf(message) === 'four')?.id
    const around = await list<Message>(`${MESSAGES}?superseded=false&around=${four}&limit=4`)
    expect(around.map(textOf)).toEqual(['one', 'A1', 'four', 'A4'])
    const two = messages.find((message) => textOf(message) === 'two')?.id
    await expectJson(harness, 404, 'GET', `${MESSAGES}?superseded=false&around=${two}`)
    await expectJson(harness, 400, 'GET', `${MESSAGES}?superseded=maybe`)
  })

  test('show the next request, which omits superseded messages', async () => {
    const context = await expectJson<{ messages: { content: string }[] }>(harness, 200, 'GET', '/v1/sessions/s/context')
    const said = JSON.stringify(context)
    expect(said).toContain('five')
    expect(said).not.toContain('three')
  })
})

describe('a `replaces` that cannot be applied', () => {
  test('a malformed, unknown or foreign run, or no content, is refused with its path and stores nothing', async () => {
    await open()
    const first = await say({ content: 'one' })
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'other' })
    const foreign = await expectJson<Run>(harness, 200, 'POST', '/v1/sessions/other/messages', { content: 'x' })
    const before = await list<Message>(MESSAGES)
    const refused = async (status: number, body: object, path: string): Promise<void> => {
      const problem = await expectJson<{ errors: { path: string }[] }>(harness, status, 'POST', MESSAGES, body)
      expect(problem.errors[0]?.path).toBe(path)
    }
    for (const replaces of [5, null, true, {}, [first.id], 'x'.repeat(129)])
      await refused(400, { content: 'x', replaces }, 'body.replaces')
    for (const replaces of ['', 'x', foreign.id, '01JD2Q8N4T6W8Y0A2C4E6G8J0K', '../s', "'; --", '\u0000'])
      await refused(404, { content: 'x', replaces }, 'body.replaces')
    await refused(400, {}, 'body.content')
    await refused(400, { replaces: first.id, content: [] }, 'body.content')
    await refused(400, { replaces: first.id, content: null }, 'body.content')
    expect(await list<Message>(MESSAGES)).toEqual(before)
  })

  test('the replacement of a run without an input of its own needs content', async () => {
    await open({
      script: [
        async function* fails() {
          yield* []
          throw new Error('the model broke')
        },
      ],
    })
    await say({ content: 'one' })
    const second = await expectJson<Run>(harness, 200, 'POST', '/v1/sessions/s/continue')
    const problem = await expectJson(harness, 422, 'POST', MESSAGES, { replaces: second.id })
    expect(problem).toMatchObject({ type: 'urn:tooltrail:problem:nothing_to_send', errors: [{ path: 'body.content' }] })
    await say({ replaces: second.id, content: 'two' })
  })

  test('is refused with 409 while a run is running or paused, whatever `on_busy` says, and stores nothing', async () => {
    const { turn, letGo } = heldTurn()
    const asked = { name: 'ask', description: 'asks', parameters: { type: 'object' } }
    await open({ script: [{ text: 'A1' }, turn, { calls: [{ id: 'c', name: 'ask', arguments: '{}' }] }] })
    const first = await say({ content: 'one' })
    const running = await expectJson<Run>(
      harness,
      202,
      'POST',
      MESSAGES,
      { content: 'two' },
      { prefer: 'respond-async' },
    )
    const refused = async (run: string): Promise<void> => {
      const before = await list<Message>(MESSAGES)
      for (const on_busy of ['queue', 'reject', 'steer']) {
        const problem = await expectJson(harness, 409, 'POST', MESSAGES, { replaces: run, on_busy })
        expect(problem).toMatchObject({
          type: 'urn:tooltrail:problem:session_busy',
          errors: [{ path: 'body.replaces' }],
        })
      }
      expect(await list<Message>(MESSAGES)).toEqual(before)
    }
    await expect.poll(() => harness.requests.length).toBe(2)
    for (const run of [first.id, running.id]) await refused(run)
    letGo()
    const path = `/v1/sessions/s/runs/${running.id}`
    await expect.poll(async () => (await expectJson(harness, 200, 'GET', path))['status']).toBe('completed')
    const paused = await say({ content: 'three', tools: [asked] })
    expect(paused).toMatchObject({ status: 'paused' })
    for (const run of [first.id, paused.id]) await refused(run)
  })

  test('waits for the end of a run whose cancel is requested', async () => {
    const stopped = Promise.withResolvers<void>()
    const slow = makeTool('slow', async (_input, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      await new Promise((resolve) => setTimeout(resolve, 300))
      stopped.resolve()
      throw signal.reason
    })
    await open({ tools: [slow], script: [{ calls: [{ id: 'c', name: 'slow', arguments: '{}' }] }, { text: 'A2' }] })
    const running = await expectJson<Run>(
      harness,
      202,
      'POST',
      MESSAGES,
      { content: 'one' },
      { prefer: 'respond-async' },
    )
    const rows = async (): Promise<number> => (await list<Message>(MESSAGES)).length
    await expect.poll(rows).toBe(3)
    await expectJson(harness, 202, 'POST', `/v1/sessions/s/runs/${running.id}/cancel`)
    const second = await say({ replaces: running.id })
    await stopped.promise
    expect(second).toMatchObject({ status: 'completed' })
    expect(lastRequest()).toEqual(['one'])
    expect(await expectJson(harness, 200, 'GET', `/v1/sessions/s/runs/${running.id}`)).toMatchObject({
      status: 'cancelled',
      superseded_by: second.id,
    })
  })
})
