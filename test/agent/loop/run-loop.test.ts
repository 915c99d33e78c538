/* Evidence, durability: A round executes 64 calls. Further calls also have rows, events and search entries, even after a
 * crash. */
import { afterEach, describe, expect, test } from 'vitest'
import { messageEvents } from '../../../functions/log/stored-events.ts'
import { ModelError } from '../../../functions/ports/model.ts'
import type { ToolOutput } from '../../../functions/ports/tool.ts'
import { makeTool, openHarness, withSlowResults } from '../harness.ts'
import type { Harness } from '../harness.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})
const set = async (options: Parameters<typeof openHarness>[0]): Promise<Harness> =>
  (harness = await openHarness(options))
const echo = makeTool('echo', async (input) => ({ text: JSON.stringify(input) }))

describe('a run', () => {
  test('without calls stores the input and the completion, and completes', async () => {
    const { submit, settled, log } = await set({ script: [{ text: 'hello' }] })
    const run = await settled(await submit('hi'))
    expect(run).toMatchObject({ status: 'completed', stopReason: 'answer', rounds: 1 })
    expect((await log()).map((message) => message.role)).toEqual(['user', 'assistant'])
  })

  test('executes the calls of a round and sends their results in sequence order', async () => {
    const slow = makeTool('slow', async () => {
      await new Promise((resolve) => setTimeout(resolve, 30))
      return { text: 'slow' }
    })
    const { submit, settled, requests } = await set({
      script: [{ calls: [{ name: 'slow' }, { name: 'echo', arguments: '{"a":1}' }] }, { text: 'done' }],
      tools: [echo, slow],
    })
    expect(await settled(await submit('go'))).toMatchObject({ status: 'completed', rounds: 2 })
    const results = requests[1]?.messages.slice(2)
    expect(results).toMatchObject([
      { role: 'tool', toolName: 'slow', parts: [{ text: 'slow' }] },
      { role: 'tool', toolName: 'echo', parts: [{ text: '{"a":1}' }] },
    ])
  })

  test('marks the completions after a history search, but not those of the next run', async () => {
    const search = makeTool('search_history', async () => ({ text: 'found' }))
    const script = [{ calls: [{ name: 'search_history' }] }, { calls: [{ name: 'echo' }] }, { text: 'there' }]
    const { submit, settled, log } = await set({ script: [...script, { text: 'hello' }], tools: [search, echo] })
    await settled(await submit('where is it?'))
    await settled(await submit('thanks'))
    const marks = (await log()).flatMap((one) => (one.role === 'assistant' ? [one.searched ?? false] : []))
    expect(marks).toEqual([true, true, true, false])
  })

  test('stores its calls as running before any of them starts', async () => {
    const seen: string[] = []
    const spy = makeTool('spy', async (_input, context) => {
      const rows = await harness?.ports.reader.messages(context, { order: 'ascending', limit: 10, roles: ['tool'] })
      for (const row of rows?.messages ?? []) if (row.role === 'tool') seen.push(row.status)
      return { text: '' }
    })
    const { submit, settled } = await set({ script: [{ calls: [{ name: 'spy' }] }, { text: 'done' }], tools: [spy] })
    await settled(await submit('go'))
    expect(seen).toEqual(['running'])
  })

  test.each([
    ['an unknown tool', { name: 'nope' }, 'no tool named "nope"'],
    ['malformed arguments', { name: 'echo', arguments: '{"a":' }, 'not valid JSON: {"a":'],
    ['a throwing tool', { name: 'throws' }, 'broken'],
    ['a tool that exceeds its timeout', { name: 'hangs' }, 'did not finish within'],
    ['a tool that gives nothing', { name: 'mute' }, 'mute gave no text'],
  ])('continues after %s: the model sees the failure as a result', async (_name, call, text) => {
    const throws = makeTool('throws', () => Promise.reject(new Error('broken')))
    const hangs = makeTool('hangs', () => new Promise(() => undefined), { timeoutMs: 20 })
    const mute = makeTool('mute', async () => JSON.parse('{}') as ToolOutput)
    const { submit, settled, requests } = await set({
      script: [{ calls: [call] }, { text: 'sorry' }],
      tools: [echo, throws, hangs, mute],
    })
    expect(await settled(await submit('go'))).toMatchObject({ status: 'completed' })
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', isError: true })
    expect(JSON.stringify(requests[1]?.messages.at(-1))).toContain(JSON.stringify(text).slice(1, -1))
  })

  test('replaces empty and repeated call ids, and each call and its result get an equal id', async () => {
    const { submit, settled, log } = await set({
      script: [
        {
          calls: [
            { id: '', name: 'echo' },
            { id: 'x', name: 'echo' },
            { id: 'x', name: 'echo' },
          ],
        },
        { text: 'ok' },
      ],
      tools: [echo],
    })
    await settled(await submit('go'))
    const messages = await log()
    const calls = messages.flatMap((message) =>
      message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [],
    )
    expect(new Set(calls).size).toBe(3)
    expect(calls).not.toContain('')
    expect(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []))).toEqual(calls)
  })

  test('ends after its last round, whose calls each get an error result', async () => {
    const calls = [{ name: 'echo' }]
    const { submit, settled, requests, log } = await set({
      script: [{ calls }, { calls }, { calls }],
      tools: [echo],
      policies: { maxRounds: 2 },
      change: withSlowResults,
    })
    expect(await settled(await submit('go'))).toMatchObject({ status: 'completed', stopReason: 'max_rounds' })
    expect(requests.map((request) => request.toolChoice)).toEqual(['auto', 'auto', 'none'])
    expect(requests[2]?.tools).toHaveLength(1)
    expect((await log()).at(-1)).toMatchObject({ role: 'tool', status: 'error' })
  })

  test('executes the first 64 calls of a round and returns errors for the others', async () => {
    let ran = 0
    const count = makeTool('count', async () => ({ text: String(++ran) }))
    const calls = Array.from({ length: 66 }, (_, place) => ({ id: `c${place}`, name: 'count' }))
    const { submit, settled, requests, log } = await set({ script: [{ calls }, { text: 'ok' }], tools: [count] })
    await settled(await submit('go'))
    expect(ran).toBe(64)
    const results = requests[1]?.messages.slice(2) ?? []
    expect(results.map((result) => result.role === 'tool' && result.isError)).toEqual(
      calls.map((_, place) => place > 63),
    )
    expect(results.at(-1)).toMatchObject({
      toolCallId: 'c65',
      parts: [{ text: expect.stringMatching(/not executed/) }],
    })
    const rows = (await log()).filter((message) => message.role === 'tool')
    expect(rows.map(({ sequence, status }) => [sequence, status])).toEqual(
      calls.map((_, place) => [place, place < 64 ? 'completed' : 'error']),
    )
    // The log contains exactly the content sent to the model.
    expect(results.map((result) => result.role === 'tool' && result.parts)).toEqual(rows.map(({ parts }) => parts))
  })

  test('stores and emits the rows of all calls, including those that do not execute', async () => {
    const count = makeTool('count', async () => ({ text: '' }))
    const calls = Array.from({ length: 200 }, (_, place) => ({ id: `c${place}`, name: 'count' }))
    const written: number[] = []
    const { submit, settled, events, log } = await set({
      script: [{ calls }, { text: 'ok' }],
      tools: [count],
      change: (ports) => ({
        ...ports,
        log: {
          ...ports.log,
          appendRound: (...round) => (written.push(round[1].tools.length), ports.log.appendRound(...round)),
          append: (...rows) => (written.push(rows[1].length), ports.log.append(...rows)),
        },
      }),
    })
    await settled(await submit('go'))
    const rows = (await log()).filter((message) => message.role === 'tool')
    expect(rows).toHaveLength(200)
    // A write stores at most 64 calls, which fit into one DynamoDB transaction.
    expect(written).toEqual([64, 64, 64, 8])
    // Events read from the log equal the live events.
    for (const stored of rows.flatMap(messageEvents))
      expect(events.find((event) => 'id' in event && 'id' in stored && event.id === stored.id)).toEqual(stored)
  })

  test('does not pause in its last round: calls of client tools get an error result', async () => {
    const { submit, settled, log } = await set({
      script: [{ calls: [{ name: 'echo' }] }, { calls: [{ name: 'ask' }] }],
      tools: [echo],
      policies: { maxRounds: 1 },
    })
    const clientTools = [{ name: 'ask', description: '', parameters: {} }]
    expect(await settled(await submit('go', { clientTools }))).toMatchObject({ stopReason: 'max_rounds' })
    expect((await log()).at(-1)).toMatchObject({
      status: 'error',
      parts: [{ text: expect.stringMatching(/last round/) }],
    })
  })

  test('stops when its token budget is used up, after one last completion', async () => {
    const { submit, settled, requests } = await set({
      script: [{ calls: [{ name: 'echo' }], tokens: 500 }, { text: 'that is all' }],
      tools: [echo],
      policies: { maxRunTokens: 400 },
    })
    expect(await settled(await submit('go'))).toMatchObject({ stopReason: 'budget' })
    expect(requests[1]?.toolChoice).toBe('none')
  })

  test('sums the token counts that a provider reports without a total', async () => {
    const { submit, settled } = await set({
      script: [{ calls: [{ name: 'echo' }], inputTokens: 500, tokens: null }, { text: 'that is all' }],
      tools: [echo],
      policies: { maxRunTokens: 400 },
    })
    expect(await settled(await submit('go'))).toMatchObject({ stopReason: 'budget' })
  })

  test('repeats the request if the call of require_tool is missing, and drops the first completion', async () => {
    const { submit, settled, log, events, requests } = await set({
      script: [{ text: 'I know' }, { calls: [{ name: 'echo' }] }, { text: 'done' }],
      tools: [echo],
      policies: { requireTool: 'any' },
    })
    await settled(await submit('go'))
    expect(requests.map((request) => request.toolChoice)).toEqual(['auto', 'required', 'auto'])
    expect(events.some((event) => event.type === 'round.restarted')).toBe(true)
    expect(JSON.stringify(await log())).not.toContain('I know')
  })
})

test('a run without the call that require_tool demands may end in its last round', async () => {
  const { submit, settled, requests } = await set({
    script: [{ calls: [{ name: 'echo' }] }, { calls: [{ name: 'echo' }] }, { text: 'done' }],
    tools: [echo, makeTool('other', async () => ({ text: '' }))],
    policies: { requireTool: { name: 'other' }, maxRounds: 1 },
  })
  expect(await settled(await submit('go'))).toMatchObject({ status: 'completed', stopReason: 'max_rounds' })
  expect(requests.map((request) => request.toolChoice)).toEqual(['auto', { name: 'other' }, 'none'])
})

describe('a model that fails', () => {
  const failing = (error: ModelError) =>
    async function* () {
      yield { type: 'text.delta', part: 0, text: 'half' } as const
      throw error
    }

  test('with a temporary error is retried, and only the successful attempt is stored', async () => {
    const error = new ModelError('rate_limited', 'slow down', { retryable: true, retryAfterMs: 5 })
    const { submit, settled, log, events } = await set({ script: [failing(error), { text: 'whole' }] })
    expect(await settled(await submit('go'))).toMatchObject({ status: 'completed' })
    expect(events.filter((event) => event.type === 'round.restarted')).toHaveLength(1)
    expect((await log()).map((message) => message.parts)).toMatchObject([[{ text: 'go' }], [{ text: 'whole' }]])
  })

  test('with a permanent error fails the run; the log has text and error, later requests omit the error', async () => {
    const error = new ModelError('refused', 'no', { retryable: false })
    const { submit, settled, log, requests } = await set({ script: [failing(error), { text: 'again' }] })
    expect(await settled(await submit('go'))).toMatchObject({ status: 'failed', error: { code: 'refused' } })
    expect((await log()).at(-1)?.parts).toEqual([
      { type: 'text', text: 'half' },
      { type: 'error', code: 'refused', text: 'no' },
    ])
    await settled(await submit('and now'))
    expect(JSON.stringify(requests[1])).not.toContain('refused')
  })

  test('can be retried with continue, without a new input', async () => {
    const error = new ModelError('provider_error', 'down', { retryable: false })
    const { submit, settled, service, session, log } = await set({ script: [failing(error), { text: 'up' }] })
    await settled(await submit('go'))
    const { runId } = await service.continue(session, {}, { here: true })
    expect(await settled(runId)).toMatchObject({ status: 'completed', trigger: 'continue' })
    expect((await log()).filter((message) => message.role === 'user')).toHaveLength(1)
    await expect(service.continue(session, {}, { here: true })).rejects.toMatchObject({ code: 'nothing_to_continue' })
  })
})
