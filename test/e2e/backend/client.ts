import { setTimeout as sleep } from 'node:timers/promises'
import type { z } from '@hono/zod-openapi'
import type { OpenAiMessage } from '../../../functions/log/formats/openai-format.ts'
import type { MessageResource } from '../../../functions/http/v1/messages/resource.ts'
import type { RunResource } from '../../../functions/http/v1/runs/resource.ts'
import type { SearchHitSchema } from '../../../functions/http/v1/search/schema.ts'
import { HANG_TIMEOUT_MS } from '../../eventually.ts'
import { whileUnavailable } from './unavailable.ts'

export type Message = MessageResource
export type RunBody = RunResource & { readonly messages?: readonly Message[] }
export type SearchHit = z.input<typeof SearchHitSchema>

export interface Reply<Body = unknown> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Body
}
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly next: string | null
  readonly has_more: boolean
}

type Headers_ = Readonly<Record<string, string>>

/** An HTTP client of one running program. */
export interface Client {
  readonly url: string
  /** Headers of every request. */
  readonly headers: Headers_
  /** Sends any request. An object as the body is sent as JSON, a string unchanged. */
  send<Body = unknown>(method: string, path: string, body?: unknown, headers?: Headers_): Promise<Reply<Body>>
  /** Sends a request like `send`, repeatedly while the store does not respond. Throws unless the status is the expected one. */
  get<Body>(path: string): Promise<Body>
  post<Body>(path: string, body: unknown, headers?: Headers_): Promise<Body>
  /** All entries of a paged list. */
  all<Item>(path: string): Promise<Item[]>
  messages(session: string): Promise<Message[]>
  /** Reads a session's log as Chat Completions messages, with the bytes of images instead of links. */
  chat(session: string): Promise<OpenAiMessage[]>
  /** Reads the run until it has one of these states. */
  runUntil(session: string, run: string, states: readonly RunBody['status'][], milliseconds?: number): Promise<RunBody>
}

/** A client of the program at `url`, which sends these headers with every request. */
export function createClient(url: string, always: Headers_ = {}): Client {
  async function send<Body>(
    method: string,
    path: string,
    body?: unknown,
    headers: Headers_ = {},
  ): Promise<Reply<Body>> {
    const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await fetch(url + path, { method, headers: { ...type, ...always, ...headers }, ...sent })
    const text = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: (isJson ? JSON.parse(text) : undefined) as Body,
    }
  }
  async function expected<Body>(method: string, path: string, body?: unknown, headers?: Headers_): Promise<Body> {
    const reply = await whileUnavailable(() => send<Body>(method, path, body, headers))
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text.slice(0, 500)}`)
    return reply.body
  }
  async function all<Item>(path: string): Promise<Item[]> {
    const found: Item[] = []
    const join = path.includes('?') ? '&' : '?'
    for (let next: string | null = ''; next !== null;) {
      const after: string = next === '' ? '' : `${join}after=${encodeURIComponent(next)}`
      const page: Page<Item> = await expected('GET', path + after)
      found.push(...page.data)
      next = page.next
    }
    return found
  }
  /** Returns the message with bytes instead of links, as a model server receives it. */
  async function withBytes(message: OpenAiMessage): Promise<OpenAiMessage> {
    if (message.role !== 'user' || typeof message.content === 'string') return message
    const content = message.content.map(async (part) => {
      if (part.type !== 'image_url') return part
      const response = await fetch(url + part.image_url.url, { headers: always })
      const bytes = Buffer.from(await response.arrayBuffer()).toString('base64')
      return { ...part, image_url: { url: `data:${response.headers.get('content-type')};base64,${bytes}` } }
    })
    return { ...message, content: await Promise.all(content) }
  }
  return {
    url,
    headers: always,
    send,
    get: (path) => expected('GET', path),
    post: (path, body, headers) => expected('POST', path, body, headers),
    all,
    messages: (session) => all(`/v1/sessions/${session}/messages?limit=1000`),
    chat: async (session) =>
      Promise.all(
        (await all<OpenAiMessage>(`/v1/sessions/${session}/messages?format=openai&limit=1000`)).map(withBytes),
      ),
    async runUntil(session, run, states, milliseconds = HANG_TIMEOUT_MS) {
      const deadline = Date.now() + milliseconds
      for (;;) {
        const found: RunBody = await expected('GET', `/v1/sessions/${session}/runs/${run}`)
        if (states.includes(found.status)) return found
        if (Date.now() > deadline)
          throw new Error(`run ${run} is ${found.status}, not ${states.join(' or ')}: ${JSON.stringify(found)}`)
        await sleep(20)
      }
    },
  }
}
