import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'

/** The address of the program, and the key for its requests. */
export interface Target {
  /** The base address, without a slash at the end. */
  readonly url: string
  /** If absent, requests have no key. A local server needs none before the first key is created. */
  readonly key?: string | undefined
}

/** A check failed; the message names the step and the unexpected result. */
export class SmokeError extends Error {
  override readonly name = 'SmokeError'
}

/** A response with an error status. */
class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number

  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/**
 * Timeout for finding a message. After a first deployment, Lambda may take several minutes to start reading the table's
 * stream. A serverless index takes half a minute to wake up. It finds a message about ten seconds after the message is
 * indexed.
 */
const FOUND_MS = 420_000
const POLL_INTERVAL_MS = 1_000
/**
 * Maximum attempts for a request that exceeds the rate of its key. That rate may be as low as one request per second.
 */
const TIMES = 10
/** Maximum `Retry-After` that the test waits for. A response about a daily limit has a longer one. */
const MAX_WAIT_SECONDS = 10
/** Timeout of a request, including a model's completion and the first start of a function. */
const REQUEST_MS = 120_000

const Run = z.object({
  id: z.string(),
  status: z.string(),
  waiting: z.array(z.object({ tool_call_id: z.string(), tool_name: z.string() })),
})
const Hits = z.object({ data: z.array(z.object({ session_id: z.string() })) })
const ASK_BOSS = { name: 'ask_boss', description: 'Asks the boss.', parameters: { type: 'object' } }

type Ask = (method: string, path: string, body?: object, headers?: Record<string, string>) => Promise<Response>

/**
 * Tests a program from outside, with one session. First, it streams a completion. Then a run waits for a tool of its caller and
 * continues. Finally, it searches for words of the session and deletes the session. Reports each finished step. Rejects
 * with `SmokeError` at the first step that fails. The session is deleted in any case.
 */
export async function smokeTour(target: Target, report: (step: string) => void): Promise<void> {
  const ask = asker(target)
  const word = `crate${randomBytes(5).toString('hex')}`
  const session = `smoke-${word}`
  const path = `/v1/sessions/${session}`
  const step = async (name: string, work: () => Promise<void>): Promise<void> => {
    const begun = Date.now()
    try {
      await work()
    } catch (error) {
      throw new SmokeError(`${name}: ${messageOf(error)}`, { cause: error })
    }
    report(`${name} (${((Date.now() - begun) / 1_000).toFixed(1)} s)`)
  }

  await step('it responds', async () => void (await ask('GET', '/healthz')))
  await step('a session is made', async () => void (await ask('POST', '/v1/sessions', { id: session })))
  const removed = (): Promise<void> => step('the session is deleted', async () => void (await ask('DELETE', path)))
  try {
    await step('a completion is streamed', () => streamed(ask, `${path}/messages`))
    await step('a run waits for a tool of its caller and continues', () => resumed(ask, path, word))
    await step('what was said is found', () => found(ask, session, word))
  } catch (error) {
    // Only the first failure is reported.
    await removed().catch(() => report(`(the session ${session} is left: it could not be deleted)`))
    throw error
  }
  await removed()
  await step('nothing of it is left', async () => {
    const response = await inTime(target, 'GET', path)
    if (response.status !== 404) throw new Error(`GET ${path} got ${response.status} instead of 404`)
  })
}

/** Returns the text of an error. If a request got no response, only the cause of `fetch`'s error gives the reason. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

async function streamed(ask: Ask, path: string): Promise<void> {
  const headers = { accept: 'text/event-stream' }
  const events = await (await ask('POST', path, { content: 'what time is it' }, headers)).text()
  for (const type of ['run.started', 'run.completed'])
    if (!events.includes(`event: ${type}\n`)) throw new Error(`no ${type} among the events: ${events.slice(-500)}`)
}

async function resumed(ask: Ask, path: string, word: string): Promise<void> {
  const content = `use ask_boss with {"question": "Ship the ${word}?"}`
  const run = await shaped(Run, await ask('POST', `${path}/messages`, { content, tools: [ASK_BOSS] }))
  const [call] = run.waiting
  if (call === undefined) throw new Error(`the run is ${run.status}, and waits for no result of ask_boss`)
  const results = [{ tool_call_id: call.tool_call_id, output: 'Yes, before noon.' }]
  const ended = await shaped(Run, await ask('POST', `${path}/runs/${run.id}/tool-results`, { results }))
  if (ended.status !== 'completed') throw new Error(`the run is ${ended.status}`)
}

/**
 * Searches until the session is found, at most `FOUND_MS`. Also retries after a 503 response, because the index may be
 * new or asleep.
 */
async function found(ask: Ask, session: string, word: string): Promise<void> {
  for (const until = Date.now() + FOUND_MS; ;) {
    try {
      const { data } = await shaped(Hits, await ask('GET', `/v1/search?q=${word}`))
      if (data.some((hit) => hit.session_id === session)) return
      if (Date.now() > until) throw new Error(`not within ${FOUND_MS / 1_000} s`)
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 503 || Date.now() > until) throw error
    }
    await sleep(POLL_INTERVAL_MS)
  }
}

/** Parses a response, which must have the format of the API. */
async function shaped<Schema extends z.ZodType>(schema: Schema, response: Response): Promise<z.output<Schema>> {
  const text = await response.text()
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    throw new Error(`${response.url} does not respond as Tooltrail does: ${text.slice(0, 500)}`)
  }
}

const asker =
  (target: Target): Ask =>
  async (method, path, body, headers) => {
    const response = await inTime(target, method, path, body, headers)
    if (response.ok) return response
    const text = (await response.text()).slice(0, 500)
    throw new Refusal(`${method} ${path} got ${response.status}: ${text}`, response.status)
  }

/** Like `request`, but retries when the key's rate is exceeded. Waits as long as the response requests. */
async function inTime(...asked: Parameters<typeof request>): Promise<Response> {
  for (let time = 1; ; time++) {
    const response = await request(...asked)
    const seconds = Number(response.headers.get('retry-after') ?? 0)
    if (response.status !== 429 || seconds === 0 || seconds > MAX_WAIT_SECONDS || time === TIMES) return response
    await response.body?.cancel()
    await sleep(seconds * 1_000)
  }
}

function request(
  { url, key }: Target,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url + path, {
    method,
    signal: AbortSignal.timeout(REQUEST_MS),
    headers: {
      ...headers,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}
