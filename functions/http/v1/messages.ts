import { createRoute, z } from '@hono/zod-openapi'
import { keyOf } from '../../domain/session.ts'
import { countedFor } from '../../access/rates.ts'
import { chatMessages } from './chat-messages.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { App, RouteDependencies } from '../dependencies.ts'
import { jsonResponse } from '../json-response.ts'
import { incomingParts, refuseTakenNames } from './incoming-content.ts'
import { messageResource } from './resources/message.ts'
import { readChatCursor, readMessageCursor, writeChatCursor, writeMessageCursor } from './page-cursor.ts'
import { READ_PROBLEMS } from './responses.ts'
import { fitting, MOST_BYTES } from './page-bytes.ts'
import { lastMessage, placementOf, respondWithRun, whileCounted } from './run-response.ts'
import { idempotencyOf, RUN_RESPONSES, startHeaders } from './run-request.ts'
import { sessionParams } from './schemas/fields.ts'
import { newMessage } from './schemas/input.ts'
import { ChatMessagePageSchema, MessagePageSchema, messageQuery } from './schemas/message.ts'
import { enterSession, findSession } from '../../access/sessions.ts'

const tags = ['Messages']

const sendMessage = createRoute({
  method: 'post',
  path: '/v1/sessions/{session}/messages',
  operationId: 'sendMessage',
  summary: 'Send an input, which starts a run',
  tags,
  request: {
    params: sessionParams,
    headers: startHeaders,
    body: { required: true, content: { 'application/json': { schema: newMessage } } },
  },
  responses: RUN_RESPONSES,
})

const listMessages = createRoute({
  method: 'get',
  path: '/v1/sessions/{session}/messages',
  operationId: 'listMessages',
  summary: 'Read the log',
  tags,
  request: { params: sessionParams, query: messageQuery },
  responses: {
    200: {
      description: 'A page of the log.',
      content: { 'application/json': { schema: z.union([MessagePageSchema, ChatMessagePageSchema]) } },
    },
    ...READ_PROBLEMS,
  },
})

/** Inputs to a session, and its log. */
export function messageRoutes(app: App, dependencies: RouteDependencies): void {
  const { service, reader, shared } = dependencies

  app.openapi(sendMessage, async (c) =>
    whileCounted(dependencies, c, async (call) => {
      const caller = c.get('caller')
      const { content, tools = [], user, metadata, on_busy: onBusy } = c.req.valid('json')
      const session = await enterSession(dependencies, caller, c.req.valid('param').session)
      const key = keyOf(session)
      refuseTakenNames(tools)
      const since = await lastMessage(dependencies, key)
      const submission = {
        parts: incomingParts(content),
        clientTools: tools,
        ...definedFields({ user, metadata, onBusy }),
        ...countedFor(caller),
        ...(await idempotencyOf(c)),
      }
      const { runId, repeated } = await service.submit(session, submission, placementOf(c))
      return respondWithRun(dependencies, c, call, { key, runId, ...(repeated ? {} : definedFields({ since })) })
    }),
  )

  app.openapi(listMessages, async (c) => {
    const session = await findSession(dependencies, c.get('caller'), c.req.valid('param').session)
    const { format, limit, order, after, before, roles, run, agent } = c.req.valid('query')
    if (format === 'openai') {
      const page = await chatMessages(dependencies, session, readChatCursor(after), limit)
      const next = page.next === undefined ? null : writeChatCursor(page.next)
      return jsonResponse(shared, { object: 'list' as const, data: page.messages, next, has_more: next !== null })
    }
    const { messages, more } = await reader.messages(session, {
      order: order === 'asc' ? 'ascending' : 'descending',
      limit,
      mostCharacters: MOST_BYTES,
      ...readMessageCursor(after, before),
      ...definedFields({ roles: readRoles(roles), run, agent }),
    })
    const data = fitting(messages.map((message) => messageResource(session.session, message)))
    const isCut = more || data.length < messages.length
    const last = data.at(-1)?.id
    const next = isCut && last !== undefined ? writeMessageCursor(order, last) : null
    return jsonResponse(shared, { object: 'list' as const, data, next, has_more: isCut })
  })
}

type Role = 'user' | 'assistant' | 'tool'

const readRoles = (roles: string | undefined): Role[] | undefined =>
  roles === undefined ? undefined : ([...new Set(roles.split(','))] as Role[])
