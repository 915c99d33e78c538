import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { OpenRequest } from '../../access/open-requests.ts'
import { currentLog } from '../../agent/current-log.ts'
import { findSession } from '../../access/sessions.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { Message } from '../../domain/messages/message.ts'
import { isEnded } from '../../domain/runs/run.ts'
import type { Run } from '../../domain/runs/run.ts'
import { keyOf } from '../../domain/session.ts'
import type { Session, SessionKey } from '../../domain/session.ts'
import { MAX_PAGE_BYTES } from '../../log/page-bytes.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { App, AppEnv, RouteDependencies } from '../dependencies.ts'
import { streamEvents } from '../streaming/event-stream.ts'
import { createBuilds } from '../streaming/document-queue.ts'
import { bytesResponse } from '../streaming/json-response.ts'
import { keyRevoked } from '../middleware/authentication.ts'
import { describeError } from '../middleware/error-response.ts'
import { invalidFields, invalidRequest } from '../middleware/validation.ts'
import { problems, READ_PROBLEMS, WRITE_PROBLEMS } from '../v1/problem-responses.ts'
import { whileCounted } from '../v1/runs/response.ts'
import { sessionId } from '../v1/fields.ts'
import { followSteps } from '../run-steps/follow-steps.ts'
import type { FollowedRun } from '../run-steps/follow-steps.ts'
import { ForeignEventSchema } from '../run-steps/stream-schema.ts'
import { createUiChunks } from './chunks.ts'
import { uiMessagesOf } from './messages.ts'
import { chatRequest, uiMessage, UiMessageListSchema } from './schemas.ts'
import type { ChatRequest } from './schemas.ts'
import { acceptCallOutputs, acceptRegeneration, acceptUserMessage, callsOf } from './turn.ts'
import { jsonText } from '../../log/json/well-formed.ts'

/** Limit of the messages that `GET /v1/chat/{chat}` shows; the newest are shown. */
const MAX_MESSAGES = 500

/** Inputs in one page. Most inputs of a run are tasks of members. */
const INPUTS = 20

const tags = ['AI SDK']
const params = z.object({ chat: sessionId.openapi({ param: { name: 'chat', in: 'path' } }) })
const stream = { 'text/event-stream': { schema: ForeignEventSchema } }

const sendChat = createRoute({
  method: 'post',
  path: '/v1/chat',
  operationId: 'sendChat',
  summary: "`useChat`: send its last message, and follow the run as the AI SDK's UI message stream",
  tags,
  request: { body: { required: true, content: { 'application/json': { schema: chatRequest } } } },
  responses: { 200: { description: 'The stream.', content: stream }, ...WRITE_PROBLEMS, ...problems(422) },
})

const resumeChat = createRoute({
  method: 'get',
  path: '/v1/chat/{chat}/stream',
  operationId: 'resumeChat',
  summary: '`useChat`: follow the run under way from its start, or from its last steered input',
  tags,
  request: { params },
  responses: {
    200: { description: 'The stream.', content: stream },
    204: { description: 'No run is under way, or the chat has not begun.' },
    ...READ_PROBLEMS,
  },
})

const readChat = createRoute({
  method: 'get',
  path: '/v1/chat/{chat}',
  operationId: 'readChat',
  summary: '`useChat`: the newest messages, as its initial ones',
  tags,
  request: { params },
  responses: {
    200: { description: 'UIMessages.', content: { 'application/json': { schema: UiMessageListSchema } } },
    ...READ_PROBLEMS,
  },
})

/**
 * Returns the chat's session; undefined before the chat's first message. A page asks to resume as soon as it opens,
 * which may be before that message.
 */
async function begunChat(dependencies: RouteDependencies, c: Context<AppEnv>): Promise<Session | undefined> {
  try {
    return await findSession(dependencies, c.get('caller'), c.req.param('chat') ?? '')
  } catch (error) {
    if (error instanceof TooltrailError && error.code === 'session_not_found') return undefined
    throw error
  }
}

/** The routes for the AI SDK's `useChat`. */
export function chatRoutes(app: App, dependencies: RouteDependencies): void {
  const { reader } = dependencies
  const builds = createBuilds()

  app.openapi(sendChat, async (c) =>
    whileCounted(dependencies, c, async (call) => {
      const body = c.req.valid('json')
      const run = await acceptChat(dependencies, c, body)
      return uiStream(dependencies, c, call, { ...run, canReset: body.sdk === 7 })
    }),
  )

  app.openapi(resumeChat, async (c) => {
    const session = await begunChat(dependencies, c)
    if (session === undefined) return c.body(null, 204)
    const key = keyOf(session)
    const latest = session.run === undefined ? undefined : await reader.run(key, session.run.id)
    // If the newest run is still queued, an older run may be in progress. In that case, the older run is followed.
    const running = latest?.status === 'queued' ? await reader.runs(key, { status: 'running', limit: 1 }) : undefined
    const run = running?.runs[0] ?? latest
    if (run === undefined || isEnded(run.status) || run.status === 'paused') return c.body(null, 204)
    const after = await lastInputOf(reader, key, run.id)
    return whileCounted(dependencies, c, async (call) =>
      uiStream(dependencies, c, call, { key, runId: run.id, after, canReset: false }),
    )
  })

  app.openapi(readChat, async (c) => {
    const session = await findSession(dependencies, c.get('caller'), c.req.valid('param').chat)
    return bytesResponse<JsonObject[]>(
      dependencies.shared.of(session.tenant),
      await builds.build(session.tenant, session.session, () => newestMessages(currentLog(reader), keyOf(session))),
    )
  })
}

/**
 * Returns the id of the run's last input. Each steered input starts another assistant message. A resumed stream
 * contains only the newest of these messages, because the page already has the others.
 */
async function lastInputOf(reader: LogReader, key: SessionKey, run: string): Promise<string | undefined> {
  for (let before: string | undefined; ;) {
    const query = { run, roles: ['user'], order: 'descending', limit: INPUTS, ...definedFields({ before }) } as const
    const { messages, more } = await reader.messages(key, query)
    const found = messages.find(isLeaders)
    before = messages.at(-1)?.id
    if (found !== undefined || !more || before === undefined) return found?.id
  }
}

/** The newest UIMessages as the bytes of their JSON. */
async function newestMessages(reader: LogReader, key: SessionKey): Promise<Uint8Array<ArrayBuffer>> {
  const query = { order: 'descending', limit: MAX_MESSAGES, mostCharacters: MAX_PAGE_BYTES } as const
  const { messages, more } = await reader.messages(key, query)
  const log = wholeRuns(messages.toReversed(), more)
  const ids = [...new Set(log.map(({ runId }) => runId))]
  const runs = await Promise.all(ids.map(async (id) => [id, await reader.run(key, id)] as const))
  const known = new Map(runs.flatMap(([id, run]) => (run === undefined ? [] : [[id, run] as const])))
  return Buffer.from(jsonText(uiMessagesOf(key.session, log, known)))
}

/** Drops the first run if its first messages are not on the page. */
function wholeRuns(log: readonly Message[], more: boolean): readonly Message[] {
  if (!more || log[0]?.role === 'user') return log
  const begin = log.findIndex(({ runId }) => runId !== log[0]?.runId)
  return begin === -1 ? log : log.slice(begin)
}

async function acceptChat(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  body: ChatRequest,
): Promise<FollowedRun> {
  if (body.trigger === 'regenerate-message') return acceptRegeneration(dependencies, c.get('caller'), body)
  const last = uiMessage.safeParse(body.messages.at(-1))
  const place = `body.messages[${body.messages.length - 1}]`
  if (!last.success) throw invalidRequest(invalidFields(place, last.error.issues))
  const caller = c.get('caller')
  return last.data.role === 'user'
    ? acceptUserMessage(dependencies, { caller, signal: c.get('request').signal }, body, last.data)
    : acceptCallOutputs(dependencies, caller, body, last.data)
}

/**
 * Returns the names of all tools that the client executes in this run. Requests can replace the tools, so tools of the
 * run's earlier requests are included.
 */
async function clientToolNames(reader: LogReader, key: SessionKey, run: Run): Promise<ReadonlySet<string>> {
  const names = new Set(run.clientTools.map(({ name }) => name))
  // Only a request with results can have replaced the tools.
  if (run.notices?.some((notice) => 'calls' in notice) !== true) return names
  for (const { needs, toolName } of await callsOf(reader, key, run)) if (needs === 'result') names.add(toolName)
  return names
}

const data = (value: unknown): string => `data: ${jsonText(value)}\n\n`

const BROKEN = 'the stream ended early, but the run continues: resume'

async function uiStream(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  call: OpenRequest,
  { canReset, ...followed }: FollowedRun & { readonly canReset: boolean },
): Promise<Response> {
  const run = await dependencies.reader.run(followed.key, followed.runId)
  const names = run === undefined ? new Set() : await clientToolNames(dependencies.reader, followed.key, run)
  const isClients = (name: string): boolean => names.has(name)
  const response = streamEvents(dependencies, c, call, async function* frames(signal) {
    yield data({ type: 'start', messageId: followed.runId, messageMetadata: { run_id: followed.runId } })
    const chunks = createUiChunks({ isClients, canReset })
    try {
      const steps = followSteps(dependencies, followed, signal)
      for (;;) {
        const next = await steps.next()
        const made = next.done === true ? next.value && chunks.end(next.value) : chunks.take(next.value)
        for (const chunk of made ?? [{ type: 'error', errorText: call.signal.aborted ? keyRevoked().message : BROKEN }])
          yield data(chunk)
        if (next.done === true) break
      }
    } catch (error) {
      if (!(error instanceof Error)) throw error
      dependencies.log.error('a UI message stream broke off', error)
      yield data({ type: 'error', errorText: describeError(error).detail })
    }
    yield 'data: [DONE]\n\n'
  })
  response.headers.set('x-vercel-ai-ui-message-stream', 'v1')
  return response
}
