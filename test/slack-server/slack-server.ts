import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SCOPES } from '../../functions/channels/slack/setup/manifest.ts'
import type { Args, StoredMessage } from './slack-messages.ts'
import { Refused } from './slack-messages.ts'
import { METHODS } from './slack-methods.ts'
import type { Bot, SlackState } from './slack-methods.ts'

/**
 * Fault of a call:
 * - `ignored`: no effect, no answer.
 * - `silent`: executed, no answer.
 * - `busy`: 429.
 * - `broken`: 500 without an effect.
 * - `refusal`: Slack's error code.
 */
export type Fault = 'ignored' | 'silent' | 'busy' | 'broken' | { readonly refusal: string }

export interface SlackCallRecord {
  readonly method: string
  readonly args: Args
  readonly token: string
}

type Written = Partial<Omit<StoredMessage, 'ts'>> & { readonly channel: string } & Readonly<Record<string, unknown>>

export interface SlackServer {
  /** Value for `SLACK_API_URL`. */
  readonly apiUrl: string
  /** Value for `TOOLTRAIL_ALLOWED_HOSTS`. */
  readonly host: string
  readonly calls: SlackCallRecord[]
  readonly state: SlackState
  /** Called before each call. Returns the fault of the call. May resolve late, to delay the call. */
  fault: (call: SlackCallRecord, count: number) => Fault | undefined | Promise<Fault | undefined>
  /** Called after each call, before its response is sent. */
  after: (call: SlackCallRecord, count: number) => void | Promise<void>
  /** Writes a message of a person, or of an app if the fields say so. Returns its `ts`. */
  write(message: Written): string
  /** The bot's messages of a thread, oldest first. */
  replies(channel: string, thread: string): StoredMessage[]
  /** Files that can be downloaded: path → content type and bytes. */
  readonly files: Map<string, { readonly type: string; readonly data: Uint8Array; readonly delayMs?: number }>
  fileUrl(name: string): string
  /** Permissions of the tokens. */
  scopes: readonly string[]
  close(): Promise<void>
}

export const BOT: Bot = { team: 'T1', user: 'UBOT', bot: 'BBOT' }
export const BOT_TOKEN = 'xoxb-test'
export const APP_TOKEN = 'xapp-test'

const READ_ONLY = new Set([
  'auth.test',
  'apps.connections.open',
  'conversations.replies',
  'files.getUploadURLExternal',
  'users.info',
])

/** Starts a separate Slack server on this machine. It implements the Web API with Slack's errors and limits. */
export async function startSlackServer(
  bots: Readonly<Record<string, Bot>> = { [BOT_TOKEN]: BOT, [APP_TOKEN]: BOT },
): Promise<SlackServer> {
  let last = 1_700_000_000
  const state: SlackState = {
    messages: [],
    statuses: [],
    prompts: [],
    uploads: new Map(),
    users: new Map(),
    editWindowClosed: false,
    nextTs: () => `${++last}.000100`,
    base: () => `http://${server.host}`,
  }
  const http = createServer((request, response) => {
    serve(server, bots, request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const host = `127.0.0.1:${(http.address() as AddressInfo).port}`
  const server: SlackServer = {
    apiUrl: `http://${host}/api/`,
    host,
    calls: [],
    state,
    fault: () => undefined,
    after: () => undefined,
    files: new Map(),
    scopes: SCOPES.map(([scope]) => scope),
    fileUrl: (name) => `http://${host}/files/${name}`,
    write(message) {
      const ts = state.nextTs()
      state.messages.push({ text: '', ...message, ts })
      return ts
    },
    replies: (channel, thread) =>
      state.messages.filter((one) => one.channel === channel && one.thread_ts === thread && one.bot_id !== undefined),
    async close() {
      http.closeAllConnections()
      http.close()
      await once(http, 'close')
    },
  }
  return server
}

async function serve(
  server: SlackServer,
  bots: Readonly<Record<string, Bot>>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://slack')
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString()
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
  const [, area, name = ''] = pathname.split('/')
  if (area === 'upload') {
    const upload = server.state.uploads.get(name)
    if (upload !== undefined) upload.content = body
    response.writeHead(upload === undefined ? 404 : 200).end()
    return
  }
  const isForm = (request.headers['content-type'] ?? '').startsWith('application/x-www-form-urlencoded')
  const args = (isForm || body === '' ? Object.fromEntries(new URLSearchParams(body)) : JSON.parse(body)) as Args
  const call = { method: area === 'files' ? 'download' : name, args, token }
  const count = server.calls.push(call)
  const fault = await server.fault(call, count)
  if (fault === 'ignored') return void response.destroy()
  if (fault === 'busy') return void response.writeHead(429, { 'retry-after': '1' }).end()
  if (fault === 'broken') return void response.writeHead(500).end()
  if (area === 'files') {
    await sendFile(server, bots, name, token, response)
    return server.after(call, count)
  }
  const answer =
    typeof fault === 'object'
      ? { ok: false, error: fault.refusal }
      : act(server.state, bots[token], call, isForm || body === '')
  await server.after(call, count)
  if (fault === 'silent') return void response.destroy()
  response
    .writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'x-oauth-scopes': server.scopes.join(',') })
    .end(JSON.stringify(answer))
}

function act(state: SlackState, bot: Bot | undefined, { method, args }: SlackCallRecord, isForm: boolean): object {
  try {
    if (bot === undefined) throw new Refused('invalid_auth')
    if (READ_ONLY.has(method) && !isForm) throw new Refused('invalid_arguments')
    const known = METHODS[method]
    if (known === undefined) throw new Refused('unknown_method')
    return { ok: true, ...known(state, args, bot) }
  } catch (error) {
    if (error instanceof Refused) return { ok: false, error: error.message }
    throw error
  }
}

/** Sends a file. Like Slack, it sends a login page with status 200 if the token may not read the file. */
async function sendFile(
  { files }: SlackServer,
  bots: Readonly<Record<string, Bot>>,
  name: string,
  token: string,
  response: ServerResponse,
): Promise<void> {
  const file = files.get(name)
  if (bots[token] === undefined || file === undefined) {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>Sign in</html>')
    return
  }
  if (file.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, file.delayMs))
  response.writeHead(200, { 'content-type': file.type }).end(file.data)
}
