/* Evidence, api: A final completion that does not fit its format is requested once more, with the faults. */
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import type { JsonFormat, RequestSettings } from '../../../../functions/domain/runs/request-settings.ts'
import { readAnswer } from '../../../../functions/log/request/answer-fit.ts'
import { until } from '../../../eventually.ts'
import { ModelError } from '../../../../functions/ports/model.ts'
import { completionOf, makeTool, openHarness } from '../../harness.ts'
import type { Harness, Turn } from '../../harness.ts'

let harness: Harness | undefined
const close = async (): Promise<void> => {
  await harness?.close()
  harness = undefined
}
afterEach(close)

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const format: JsonFormat = { type: 'json_schema', name: 'place', schema }
const typed: RequestSettings = { responseFormat: format }
const GOOD = '{"city": "Oslo"}'

async function run(
  script: readonly Turn[],
  { settings = typed, ...options }: Partial<Parameters<typeof openHarness>[0]> & { settings?: RequestSettings } = {},
) {
  harness = await openHarness({ ...options, script })
  const { submit, settled } = harness
  const ended = await settled(await submit('go', { settings }))
  return { ...harness, ended, codes: (ended.notices ?? []).flatMap((one) => (one.type === 'warning' ? one.code : [])) }
}

describe('a run with a format', () => {
  test('keeps the text of an answer that fits the format, and sends only one request', async () => {
    const { ended, requests, codes } = await run([{ text: GOOD }])
    expect([ended.status, ended.output, codes, requests.length]).toEqual(['completed', GOOD, [], 1])
    expect(requests[0]?.responseFormat).toEqual(format)
  })

  test('sends the faults in a second request without calls, and stores only the second answer', async () => {
    const tools = [makeTool('echo', async () => ({ text: 'x' }))]
    const { ended, requests, codes, log, events } = await run([{ text: '{"town": 1}' }, { text: GOOD }], { tools })
    expect([ended.output, codes]).toEqual([GOOD, []])
    expect(requests.map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'none'])
    const [asked, question] = requests[1]?.messages.slice(-2) ?? []
    expect(asked).toEqual({ role: 'assistant', parts: [{ type: 'text', text: '{"town": 1}' }] })
    expect(JSON.stringify(question)).toContain('city')
    expect(requests[1]?.messages.slice(0, -2)).toEqual(requests[0]?.messages)
    expect(JSON.stringify(await log())).not.toContain('town')
    const restarts = events.flatMap((event) => (event.type === 'round.restarted' ? [event.reason] : []))
    expect(restarts).toEqual(['response_format'])
  })

  test('counts both requests in the usage of the run, its session and the ledger', async () => {
    const { ended, ports, key } = await run([
      { text: 'no', tokens: 5 },
      { text: GOOD, tokens: 7 },
    ])
    expect(ended.usage.totalTokens).toBe(12)
    expect((await ports.sessions.read(key))?.totals.usage.totalTokens).toBe(12)
  })

  test('completes with a warning if the second answer does not fit either', async () => {
    const { ended, codes, events } = await run([{ text: 'no' }, { text: '```json\n{}\n```' }])
    expect([ended.status, ended.stopReason, ended.output]).toEqual(['completed', 'answer', undefined])
    expect(codes).toEqual(['output_not_of_schema'])
    expect(events.map(({ type }) => type).slice(-3)).toEqual(['message.completed', 'warning', 'run.completed'])
  })

  test('has the same events in the log as in the live stream', async () => {
    const { ended, events, service, key } = await run([{ text: 'no' }, { text: 'no' }])
    const stored = await Array.fromAsync(service.soFar(key, ended.id))
    const named = (all: typeof events) => all.flatMap((event) => ('id' in event ? [event.id] : []))
    expect(named(stored)).toEqual(named(events))
  })

  test('has no output if it fails, and a warning if its last round had only calls', async () => {
    const failing: Turn = async function* () {
      yield* []
      throw new Error('broken')
    }
    const failed = await run([failing])
    expect([failed.ended.status, failed.ended.output, failed.codes]).toEqual(['failed', undefined, []])
    await close()
    const tools = [makeTool('echo', async () => ({ text: 'x' }))]
    const calls = { calls: [{ name: 'echo' }] }
    const limited = await run([calls, calls], { tools, policies: { maxRounds: 1 } })
    expect([limited.ended.stopReason, limited.codes]).toEqual(['max_rounds', ['output_not_of_schema']])
  })

  test('sends the format in each round, and checks only completions without calls', async () => {
    const tools = [makeTool('echo', async () => ({ text: 'x' }))]
    const { ended, requests } = await run([{ text: 'let me see', calls: [{ name: 'echo' }] }, { text: GOOD }], {
      tools,
    })
    expect([ended.output, requests.length]).toEqual([GOOD, 2])
    expect(requests.every((request) => request.responseFormat !== undefined)).toBe(true)
  })

  test('takes the format of its agent, unless the request names another one', async () => {
    const policies = { responseFormat: format }
    expect((await run([{ text: GOOD }], { policies, settings: {} })).ended.output).toBe(GOOD)
    await close()
    const text = await run([{ text: 'hello' }], { policies, settings: { responseFormat: { type: 'text' } } })
    expect([text.ended.settings, text.requests.length]).toEqual([undefined, 1])
  })

  test('executes calls of the second completion, although its request allows none', async () => {
    const tools = [makeTool('echo', async () => ({ text: 'x' }))]
    const { ended, requests } = await run([{ text: 'no' }, { calls: [{ name: 'echo' }] }, { text: GOOD }], { tools })
    expect([ended.output, requests.length]).toEqual([GOOD, 3])
  })
})

test('a holder that takes over after a kill during the second request repeats the first request', async () => {
  let ahead = 0
  const clock = { ...createSystemClock(), now: () => Date.now() + ahead }
  const hangs: Turn = async function* (_, signal) {
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
    yield* []
  }
  harness = await openHarness({ script: [{ text: 'no', tokens: 5 }, hangs], clock })
  const { submit, key, another, requests } = harness
  const settings: RequestSettings = { ...typed, stop: ['END'], toolChoice: 'none' }
  const runId = await submit('go', { settings })
  await until(() => requests.length === 2)
  ahead = 61_000
  const other = another([
    { text: 'no', tokens: 5 },
    { text: GOOD, tokens: 7 },
  ])
  await other.worker.serve(key)
  const ended = await other.settled(runId)
  expect(ended).toMatchObject({ status: 'completed', output: GOOD, usage: { totalTokens: 17 } })
  expect(other.requests).toEqual(requests)
})

test('a format that the provider refuses is described by the instructions, also in later requests', async () => {
  const accepts: (text: string) => Turn = (text) =>
    async function* (request) {
      if (request.describesFormat !== true)
        throw new ModelError('invalid_request', 'unknown field', { retryable: false, status: 400 })
      yield { type: 'completion', completion: completionOf({ text }) }
    }
  const { ended, codes, requests } = await run([accepts('no'), accepts('no'), accepts(GOOD)])
  expect([ended.output, codes]).toEqual([GOOD, ['request_repaired']])
  expect(requests.map(({ describesFormat }) => describesFormat)).toEqual([undefined, true, true])
})

test('the answer of a member is checked against the format of its agent', async () => {
  const task = { member: 'scout', task: 'look' }
  const delegate = { calls: [{ name: 'delegate_task_to_member', arguments: JSON.stringify(task) }] }
  const script = [{ text: 'no' }, { text: 'no' }]
  const team = { scout: { script, policies: { responseFormat: format } } }
  const { ended, codes, log } = await run([delegate, { text: 'done' }], { team, settings: {} })
  expect([ended.status, codes]).toEqual(['completed', ['output_not_of_schema']])
  const warned = ended.notices?.find((one) => one.type === 'warning')
  expect(warned).toMatchObject({ agent: 'scout' })
  expect((await log()).filter(({ agent, role }) => agent === 'scout' && role === 'assistant')).toHaveLength(1)
})

test('settings sent with results apply to all later rounds, but the tool choice only to the next round', async () => {
  const ask = { name: 'ask', description: 'Asks.', parameters: { type: 'object' } }
  const calls = (id: string) => ({ calls: [{ id, name: 'ask' }] })
  harness = await openHarness({ script: [calls('a'), calls('b'), { text: GOOD }] })
  const { submit, settled, service, session, requests } = harness
  const runId = await submit('go', { clientTools: [ask] })
  await settled(runId)
  const output = [{ type: 'text', text: '42' }] as const
  const settings: RequestSettings = { ...typed, toolChoice: 'required' }
  await service.resolve(session, runId, [{ toolCallId: 'a', output }], { here: true }, { settings })
  await until(() => requests.length === 2)
  expect(await settled(runId)).toMatchObject({ status: 'paused' })
  await service.resolve(session, runId, [{ toolCallId: 'b', output }], { here: true })
  expect(await settled(runId)).toMatchObject({ status: 'completed', output: GOOD })
  const sent = requests.map(({ toolChoice, responseFormat }) => [toolChoice, responseFormat?.type])
  expect(sent).toEqual([
    ['auto', undefined],
    ['required', 'json_schema'],
    ['auto', 'json_schema'],
  ])
})

describe('the options of a run', () => {
  const options = { temperature: 0.5, maxOutputTokens: 100, reasoningEffort: 'low' } as const

  test('reach the model if the agent accepts them', async () => {
    const settings = { options, stop: ['END'] }
    const accepted = await run([{ text: 'hi' }], { settings, policies: { requestOptions: 'accept' } })
    expect(accepted.requests[0]?.options).toMatchObject({ ...options, stop: ['END'] })
    await close()
    const ignored = await run([{ text: 'hi' }], { settings })
    expect(ignored.requests[0]?.options).toEqual({ stop: ['END'] })
  })

  test('force a call in the first round only', async () => {
    const tools = [makeTool('echo', async () => ({ text: 'x' }))]
    const script = [{ calls: [{ name: 'echo' }] }, { text: 'done' }]
    const { requests } = await run(script, { tools, settings: { toolChoice: { name: 'echo' } } })
    expect(requests.map(({ toolChoice }) => toolChoice)).toEqual([{ name: 'echo' }, 'auto'])
  })

  test('refuse the calls of a model that ignores the tool choice `none`', async () => {
    let executed = 0
    const tools = [makeTool('echo', async () => ({ text: `${++executed}` }))]
    const { log } = await run([{ calls: [{ name: 'echo' }] }, { text: 'done' }], {
      tools,
      settings: { toolChoice: 'none' },
    })
    expect(executed).toBe(0)
    expect(JSON.stringify(await log())).toContain('allows no calls')
  })

  test('also apply when a failed run is retried, except the tool choice', async () => {
    const failing: Turn = async function* () {
      yield* []
      throw new Error('broken')
    }
    const { service, session, settled, requests, ended } = await run([failing, { text: GOOD }], {
      settings: { ...typed, toolChoice: 'none' },
    })
    expect(ended.status).toBe('failed')
    const { runId } = await service.continue(
      { ...session, run: { id: ended.id, status: 'failed' } },
      {},
      { here: true },
    )
    expect(await settled(runId)).toMatchObject({ output: GOOD, settings: { format } })
    expect(requests[1]?.responseFormat).toEqual(format)
  })
})

test('an answer is accepted if it is JSON, and for json_object only if it is an object', () => {
  const white = fc.constantFrom('', ' ', '\n', '\t\r\n')
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), white, white, (value, before, after) => {
      const text = `${before}${JSON.stringify(value)}${after}`
      expect(readAnswer(format, text)).toMatchObject({ text })
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
      expect('faults' in readAnswer({ type: 'json_object' }, text)).toBe(!isObject)
    }),
  )
  fc.assert(
    fc.property(fc.string(), (text) => {
      const isJson = (() => {
        try {
          JSON.parse(text)
          return true
        } catch {
          return false
        }
      })()
      expect('faults' in readAnswer(format, text)).toBe(!isJson)
    }),
  )
  for (const text of ['', '```json\n{}\n```', `${'['.repeat(65)}${']'.repeat(65)}`, '{} {}', 'NaN'])
    expect(readAnswer(format, text)).toHaveProperty('faults')
})
