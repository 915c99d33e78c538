import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createClient } from '../../functions/client/client.ts'
import type { RunEvent } from '../../functions/client/api-types.ts'
import { tail } from '../../functions/cli/commands/tail.ts'
import { createRunPrinter } from '../../functions/cli/run-printer.ts'
import { completionOf } from '../agent/harness.ts'
import { openHttpHarness } from '../http/harness.ts'

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

describe('what a run said', () => {
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

describe('tail', () => {
  test('shows every run, those between two looks as well, and goes on after a lost connection', async () => {
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
    await expect.poll(() => beside, { timeout: 10_000 }).toContain('the connection was lost')
    await say('second')
    await say('third')
    await expect.poll(() => out, { timeout: 20_000 }).toMatch(/two\n[^]*three\n/)
    expect(beside).toMatch(/USER second\n[^]*USER third\n/)
    expect(beside).not.toContain('USER first')
    left.abort()
    await tailing
    await harness.close()
  }, 60_000)
})
