import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { withEngines } from '../../../engines/with-engines.ts'
import { createFunctionPool } from './function-pool.ts'
import type { FunctionPool } from './function-pool.ts'
import { eventually, PROMISED_TIME_RETRIES } from '../../../eventually.ts'

/** Code of a function that shows each known fault on request. */
const CODE = `
let ticks = 0
setInterval(() => ticks++, 10)
export const buffered = async ({ wait = 0, fail, grow, large, call }) => {
  if (call) void fetch(process.env.AWS_ENDPOINT_URL_SQS)
  await new Promise((resolve) => setTimeout(resolve, wait))
  for (const kept = []; grow; ) {
    kept.push(Buffer.alloc(10_000_000, 1))
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  if (fail) throw new TypeError('as asked')
  return { ticks, pid: process.pid, variable: process.env.GIVEN, text: 'x'.repeat(large ?? 0) }
}
export const streamed = awslambda.streamifyResponse(async ({ fail }, stream) => {
  const response = awslambda.HttpResponseStream.from(stream, { statusCode: 201 })
  response.write('first')
  await new Promise((resolve) => setTimeout(resolve, 600))
  if (fail) throw new Error('in the middle')
  response.end('last')
})
`
const asPromised = { retry: PROMISED_TIME_RETRIES }
const NOWHERE = 'http://127.0.0.1:9'

withEngines(['lambda'], ({ lambda: client }) => {
  let folder: string
  let pool: FunctionPool
  const pools = (handler: string, environment = {}): FunctionPool => {
    const engines = { dynamodb: NOWHERE, s3: NOWHERE, sqs: NOWHERE, secretsmanager: NOWHERE, opensearch: NOWHERE }
    const settings = { name: 'f', arn: 'arn:f', folder, handler, environment, timeoutMs: 6_000, memoryMb: 192 }
    return (pool = createFunctionPool(settings, { client, engines, search: 'c' }))
  }
  const responseOf = async (event: object): Promise<{ ticks: number; pid: number; variable?: string }> => {
    const outcome = await pool.invoke(event)
    if (!outcome.ok) throw new Error(outcome.message)
    return JSON.parse(outcome.body.toString()) as { ticks: number; pid: number }
  }
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tooltrail-function-'))
    await writeFile(join(folder, 'index.mjs'), CODE)
  })
  afterEach(() => pool.recycle())
  afterAll(() => rm(folder, { recursive: true }))

  test('a process sees only its own variables and is frozen between two invocations', asPromised, async () => {
    pools('index.buffered', { GIVEN: 'value' })
    const first = await responseOf({})
    expect(first.variable).toBe('value')
    await sleep(1_000)
    const second = await responseOf({})
    expect(second.pid).toBe(first.pid)
    expect(second.ticks - first.ticks).toBeLessThan(60)
  })

  test('concurrent invocations have separate processes', async () => {
    pools('index.buffered')
    const [one, other] = await Promise.all([responseOf({ wait: 300 }), responseOf({ wait: 300 })])
    expect(one.pid).not.toBe(other.pid)
  })

  test('an invocation that exceeds its time, memory or output fails, and the next invocation has a new process', async () => {
    pools('index.buffered')
    expect(await pool.invoke({ wait: 60_000 })).toMatchObject({ ok: false, errorType: 'Sandbox.Timedout' })
    expect(await pool.invoke({ grow: true })).toMatchObject({ ok: false, errorType: 'Runtime.OutOfMemory' })
    expect(await pool.invoke({ large: 7_000_000 })).toMatchObject({ errorType: 'Function.ResponseSizeTooLarge' })
    expect(await pool.invoke({ text: 'x'.repeat(7_000_000) })).toMatchObject({ errorType: 'RequestEntityTooLarge' })
    expect(await pool.invoke({ fail: true })).toMatchObject({ errorType: 'TypeError', message: 'as asked' })
    expect((await pool.invoke({})).ok).toBe(true)
  })

  test('a function that cannot start reports the reason', async () => {
    pools('nothing.handler')
    expect(await pool.invoke({})).toMatchObject({
      errorType: 'Runtime.InitError',
      message: expect.stringContaining('nothing'),
    })
  })

  test('work that is unfinished at the end of an invocation is detected', async () => {
    pools('index.buffered')
    pool.disturb(() => ({ kind: 'silence' }))
    await responseOf({ call: true, wait: 200 })
    await eventually(() => expect(pool.leftBehind).toHaveLength(1))
  })

  test('a streamed response arrives in chunks, and an aborted response is reported as failed', asPromised, async () => {
    pools('index.streamed')
    const times: number[] = []
    const sink = { start: () => {}, chunk: () => void times.push(Date.now()) }
    expect((await pool.invoke({}, sink)).ok).toBe(true)
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(200)
    expect(await pool.invoke({ fail: true }, sink)).toMatchObject({
      ok: false,
      message: expect.stringContaining('middle'),
    })
  })
})
