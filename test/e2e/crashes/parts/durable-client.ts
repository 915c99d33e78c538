import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Client, Message, RunBody } from '../../backend/client.ts'
import type { SentEvent } from '../../backend/event-text.ts'
import { readEvents } from '../../backend/event-text.ts'
import { whileUnavailable } from '../../backend/unavailable.ts'
import type { ListedCallback } from './reported.ts'

/** The error of a stream that ended before its run did. */
export const BROKEN_STREAM = 'the stream broke off'

const ENDED: readonly string[] = ['completed', 'failed', 'cancelled']
const TERMINAL = new Set(['run.completed', 'run.failed', 'run.cancelled', 'run.paused'])

/** Acknowledged facts that a client knows of its session. They must survive the program's crashes. */
export interface Knowledge {
  readonly session: string
  /** Idempotency key → text, for each input that the client has sent or is sending. */
  readonly inputs: Map<string, string>
  /** Idempotency key → run, as acknowledged. */
  readonly runs: Map<string, string>
  /** Received stored events by id, in order of arrival. */
  readonly events: Map<string, SentEvent>
  /** Run → id of the last stored event. */
  readonly last: Map<string, string>
  /** Resolved calls: call id → the result's text, or the approval. */
  readonly resolutions: Map<string, string | boolean>
  /** Runs that were cancelled while they were running, or were superseded. */
  readonly stopped: Set<string>
  /** Texts of inputs that a replacement without content has sent again. */
  readonly repeated: Set<string>
  /** Runs that failed as expected. */
  readonly failed: Set<string>
  readonly marks: Set<string>
}

let made = 0

/**
 * Creates the facts of a new session. The session's name is unique in this process, because the scripted model
 * remembers which inputs it refused.
 */
export const newKnowledge = (name: string): Knowledge => ({
  session: `${name}-${++made}`,
  inputs: new Map(),
  runs: new Map(),
  events: new Map(),
  last: new Map(),
  resolutions: new Map(),
  stopped: new Set(),
  repeated: new Set(),
  failed: new Set(),
  marks: new Set(),
})

/**
 * Returns the fields of a message that never change. Numbers and uses of sources are added later, and so is the run that
 * supersedes the message.
 */
export function lasting(message: Pick<Message, 'sources' | 'superseded_by'> | undefined): unknown {
  const { superseded_by: _, sources, ...fields } = message ?? {}
  if (message === undefined) return undefined
  return { ...fields, ...(sources === undefined ? {} : { sources: sources.map(({ title }) => title) }) }
}

/** A session's client. It repeats requests without a response, and those that failed because the store did not respond. */
export interface DurableClient {
  readonly client: Client
  readonly knows: Knowledge
  openSession(agent?: string): Promise<void>
  /** Sends an input and returns its run's id. If `stream` is set, reads the run's events up to its end or a pause. */
  submit(key: string, body: { readonly content: string } & object, stream: boolean): Promise<string>
  /** Replaces a run with a new run of the same input. Returns the id of the new run. */
  regenerate(key: string, run: string): Promise<string>
  /** Reads the run's events, resolving its waiting calls, until it has ended. Approvals are given unless `denies` is set. */
  finish(run: string, denies?: boolean): Promise<RunBody>
  /** Continues after a failed run. Returns the id of the new run. */
  resume(key: string): Promise<string>
  /** Waits until the run is paused or has ended. Returns whether it is paused. */
  untilPaused(run: string): Promise<boolean>
  /** Waits until the run's first call is stored, or the run has ended without a call. */
  untilCalls(run: string): Promise<void>
  /** Waits until the receiver has accepted all callbacks of the session. */
  untilReported(): Promise<void>
  stop(run: string): Promise<void>
  readRun(run: string): Promise<RunBody>
}

/** Creates a client of the current process. It has the facts that clients of earlier processes recorded. */
export function createDurableClient(client: Client, knows: Knowledge): DurableClient {
  const base = `/v1/sessions/${knows.session}`

  function learn(event: SentEvent): void {
    if (event.id === undefined) return
    const before = knows.events.get(event.id)
    if (before !== undefined && !isDeepStrictEqual(lasting(before.data.message), lasting(event.data.message)))
      throw new Error(`event ${event.id} was sent with another message than before`)
    knows.events.set(event.id, event)
  }

  /** Reads events to the end. Throws if the stream breaks. */
  async function read(response: Response, key?: string): Promise<void> {
    if (response.status !== 200) throw new Error(`events: ${response.status} ${await response.text()}`)
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true })
      const end = text.lastIndexOf('\n\n') + 2
      for (const event of readEvents(text.slice(0, end))) {
        learn(event)
        const run = (event.data as { run_id?: string }).run_id ?? ''
        if (key !== undefined) knows.runs.set(key, run)
        if (event.id !== undefined) knows.last.set(run, event.id)
        if (TERMINAL.has(event.type)) return
      }
      text = text.slice(end)
    }
    throw new Error(BROKEN_STREAM)
  }

  async function follow(run: string): Promise<void> {
    const last = knows.last.get(run)
    const headers = last === undefined ? {} : { 'last-event-id': last }
    await read(await whileUnavailable(() => fetch(`${client.url}${base}/runs/${run}/events`, { headers })))
  }

  async function resolveOne(run: RunBody, denies: boolean): Promise<void> {
    const call = run.waiting[0]
    if (call === undefined) return
    const { mark } = JSON.parse(call.arguments) as { mark: string }
    const resolution = call.needs === 'approval' ? !denies : `result of ${mark}`
    const result = typeof resolution === 'boolean' ? { approve: resolution } : { output: resolution }
    const results = [{ tool_call_id: call.tool_call_id, message_id: call.message_id, ...result }]
    const path = `${base}/runs/${run.id}/tool-results`
    const body = { results }
    const { status, text } = await whileUnavailable(() => client.send('POST', path, body, { prefer: 'respond-async' }))
    if (status === 200 || status === 202) knows.resolutions.set(call.tool_call_id, resolution)
    // After three takeovers without a new message, a run ends although its calls are open.
    else if (status !== 409 || (await readRun(run.id)).error?.code !== 'crashed_repeatedly')
      throw new Error(`POST ${path}: ${status} ${text}`)
  }

  const readRun = (run: string): Promise<RunBody> => client.get(`${base}/runs/${run}`)

  return {
    client,
    knows,
    readRun,
    async openSession(agent = 'default') {
      const body = { id: knows.session, agent }
      const { status, text } = await whileUnavailable(() => client.send('POST', '/v1/sessions', body))
      if (status !== 201 && status !== 409) throw new Error(`POST /v1/sessions: ${status} ${text}`)
    },
    async submit(key, body, stream) {
      knows.inputs.set(key, body.content)
      const known = knows.runs.get(key)
      if (known !== undefined) return known
      const headers = { 'content-type': 'application/json', 'idempotency-key': key }
      const wants = stream ? { accept: 'text/event-stream' } : { prefer: 'respond-async' }
      const request = { method: 'POST', body: JSON.stringify(body), headers: { ...headers, ...wants } }
      const response = await whileUnavailable(() => fetch(`${client.url}${base}/messages`, request))
      if (stream) await read(response, key)
      else if (response.ok) knows.runs.set(key, ((await response.json()) as RunBody).id)
      else throw new Error(`POST ${base}/messages: ${response.status} ${await response.text()}`)
      return knows.runs.get(key) ?? ''
    },
    async finish(run, denies = false) {
      for (;;) {
        const now = await readRun(run)
        if (ENDED.includes(now.status)) return now
        if (now.waiting.length > 0) await resolveOne(now, denies)
        else await follow(now.id)
      }
    },
    async regenerate(key, run) {
      const known = knows.runs.get(key)
      if (known !== undefined) return known
      const headers = { prefer: 'respond-async', 'idempotency-key': key }
      const { id } = await client.post<RunBody>(`${base}/messages`, { replaces: run }, headers)
      knows.runs.set(key, id)
      return id
    },
    async resume(key) {
      const known = knows.runs.get(key)
      if (known !== undefined) return known
      const headers = { prefer: 'respond-async', 'idempotency-key': key }
      const { id } = await client.post<RunBody>(`${base}/continue`, undefined, headers)
      knows.runs.set(key, id)
      return id
    },
    async untilCalls(run) {
      for (;;) {
        if ((await client.messages(knows.session)).some((message) => message.role === 'tool')) return
        if (ENDED.includes((await readRun(run)).status)) return
        await sleep(20)
      }
    },
    async untilPaused(run) {
      for (;;) {
        const { status } = await readRun(run)
        if (status === 'paused' || ENDED.includes(status)) return status === 'paused'
        await sleep(20)
      }
    },
    async untilReported() {
      for (;;) {
        const callbacks = await client.all<ListedCallback>(`/v1/callbacks?limit=100&session=${knows.session}`)
        if (callbacks.every(({ status }) => status === 'delivered')) return
        await sleep(50)
      }
    },
    async stop(run) {
      const stopped = await client.post<RunBody>(`${base}/runs/${run}/cancel`, undefined)
      if (!ENDED.includes(stopped.status)) knows.stopped.add(run)
    },
  }
}
