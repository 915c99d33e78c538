/* Evidence, house: The terminal marks an answer that a limit truncated. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createClient } from '../../functions/client/client.ts'
import type { RunEvent } from '../../functions/client/api-types.ts'
import { tail } from '../../functions/cli/commands/tail.ts'
import { createRunPrinter } from '../../functions/cli/run-printer.ts'
import { completionOf, makeTool } from '../agent/harness.ts'
import { heldTurn, openHttpHarness } from '../http/harness.ts'

let out: string
let beside: string
beforeEach(() => {
  ;[out, beside] = ['', '']
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((out += String(text)), true))
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => ((beside += String(text)), true))
})
afterEach(() => {
  vi.restoreAllMocks()
})

const at = { session_id: 's', run_id: 'r', round: 1 }
const delta = (text: string) => ({ ...at, type: 'text.delta', part: 0, text }) as RunEvent
const completed = (text: string, rest: object = {}) =>
  ({
    ...at,
    ...rest,
    type: 'message.completed',
    message: { role: 'assistant', parts: [{ type: 'text', text }] },
  }) as unknown as RunEvent
const restarted = { ...at, type: 'round.restarted', reason: 'connection lost' } as RunEvent

describe('the text of a run', () => {
  test.each<[string, RunEvent[], string]>([
    [
      'is shown once where all of it was streamed',
      [delta('blue '), delta('crates'), completed('blue crates')],
      'blue crates\n',
    ],
    ['is shown whole where nothing was streamed', [completed('blue crates')], 'blue crates\n'],
    [
      'is shown whole where the connection was lost and the round has ended since',
      [delta('blue '), restarted, completed('blue crates')],
      'blue \nblue crates\n',
    ],
    [
      'is shown to its end where the last of it was not streamed',
      [delta('blue '), completed('blue crates')],
      'blue crates\n',
    ],
    ['is shown again where it has become another', [delta('red'), completed('blue crates')], 'red\nblue crates\n'],
    ['is that of the leader alone', [completed('blue crates', { parent_tool_call_id: 'c' })], ''],
    ['begins anew with each message', [delta('a'), completed('a'), delta('b'), completed('b')], 'a\nb\n'],
  ])('%s', (_, events, shown) => {
    const printer = createRunPrinter()
    for (const event of events) printer.show(event)
    expect(out).toBe(shown)
  })
})

describe('the end of a run', () => {
  test.each([
    ['output_limit', 'cut it off'],
    ['max_rounds', 'limit of rounds'],
    ['budget', 'limit of tokens'],
    ['answer', ''],
  ])('with the reason %s is explained beside the run’s text', (reason, reported) => {
    createRunPrinter().show({ ...at, type: 'run.completed', run: { stop_reason: reason } } as unknown as RunEvent)
    expect(beside).toContain(reported)
    expect([out, beside === '']).toEqual(['', reported === ''])
  })
})

describe('tail', () => {
  test('shows every run, including runs between two polls, and continues after a lost connection', async () => {
    const said = ['one', 'two', 'three'].map(
      (text) =>
        async function* () {
          yield { type: 'completion', completion: completionOf({ text }) } as const
        },
    )
    const harness = await openHttpHarness({ script: said })
    let isLost = false
    const fetchHere = async (input: unknown, init?: RequestInit): Promise<Response> => {
      if (isLost && String(input).includes('/runs')) {
        isLost = false
        throw new TypeError('fetch failed')
      }
      return harness.program.app.fetch(new Request(input as string, init))
    }
    const client = createClient({ url: 'http://localhost:3000', fetch: fetchHere as typeof fetch })
    await client.createSession({ id: 's' })
    const say = async (content: string): Promise<void> => {
      for await (const event of client.streamMessage('s', { content })) void event
    }
    await say('first')
    const left = new AbortController()
    const tailing = tail(client, 's', { limit: 10 }, left.signal)
    await expect.poll(() => out).toContain('one')
    isLost = true
    await expect.poll(() => beside).toContain('the connection was lost')
    await say('second')
    await say('third')
    await expect.poll(() => out).toMatch(/two\n[^]*three\n/)
    expect(beside).toMatch(/USER second\n[^]*USER third\n/)
    expect(beside).not.toContain('USER first')
    left.abort()
    await tailing
    await harness.close()
  })

  /** Opens a session with a run in progress. The run waits for the call `slow`, and then for its third completion. */
  async function openRunInProgress() {
    const [slow, held] = [Promise.withResolvers<void>(), heldTurn()]
    const script = [{ text: 'one', calls: [{ name: 'quick' }] }, { text: 'two', calls: [{ name: 'slow' }] }, held.turn]
    const tools = [
      makeTool('quick', async () => ({ text: 'the quick result' })),
      makeTool('slow', async () => (await slow.promise, { text: 'the slow result' })),
    ]
    const harness = await openHttpHarness({ script, tools })
    const fetchHere = async (input: unknown, init?: RequestInit) =>
      harness.program.app.fetch(new Request(input as string, init))
    const client = createClient({ url: 'http://localhost:3000', fetch: fetchHere as typeof fetch })
    await client.createSession({ id: 's' })
    const run = await client.sendMessage('s', { content: 'the input' })
    await expect.poll(async () => (await client.listMessages('s', {})).data.length).toBe(5)
    return { harness, client, run, endCall: slow.resolve, letGo: held.letGo }
  }
  const timesOf = (text: string) => (out + beside).split(text).length - 1

  test.each([
    ['once', 10, { 'the input': 1, one: 1, 'the quick result': 1 }],
    ['not at all if the limit omits it', 2, { 'the input': 0, one: 0, 'the quick result': 0 }],
  ])('shows the earlier output of a run in progress %s', async (_, limit, before) => {
    const { harness, client, endCall, letGo } = await openRunInProgress()
    const left = new AbortController()
    const tailing = tail(client, 's', { limit }, left.signal)
    await expect.poll(() => out).toContain('slow()')
    endCall()
    letGo()
    await expect.poll(() => out).toContain('thinking')
    await expect.poll(async () => (await client.readSession('s')).run?.status).toBe('completed')
    left.abort()
    await tailing
    const expected = { ...before, two: 1, 'the slow result': 1, thinking: 1 }
    expect(Object.fromEntries(Object.keys(expected).map((text) => [text, timesOf(text)]))).toEqual(expected)
    await harness.close()
  })

  test('shows a run in progress, also as lines of JSON', async () => {
    const { harness, client, endCall, letGo } = await openRunInProgress()
    const left = new AbortController()
    const tailing = tail(client, 's', { limit: 10, json: true }, left.signal)
    await expect.poll(() => out).toContain('"tool_name":"slow"')
    endCall()
    letGo()
    await expect.poll(() => out).toContain('run.completed')
    left.abort()
    await tailing
    const lines = out.trimEnd().split('\n')
    const reported = lines.map((line) => JSON.parse(line) as { type?: string; id?: string; message?: { id: string } })
    const ids = reported.flatMap(({ type, id, message }) =>
      type === 'tool_call.completed' ? [] : [message?.id ?? id ?? []],
    )
    expect(ids.length).toBe(new Set(ids).size)
    expect(reported.filter(({ type }) => type === 'tool_call.completed')).toHaveLength(1)
    await harness.close()
  })

  test('shows a run that ends before tail reads it', async () => {
    const { harness, client, run, endCall, letGo } = await openRunInProgress()
    const listRuns: typeof client.listRuns = async (...given) => {
      endCall()
      letGo()
      await expect.poll(async () => (await client.readRun('s', run.id)).status).toBe('completed')
      return client.listRuns(...given)
    }
    const left = new AbortController()
    const tailing = tail({ ...client, listRuns }, 's', { limit: 10 }, left.signal)
    await expect.poll(() => out).toContain('thinking')
    left.abort()
    await tailing
    await harness.close()
  })
})
