import { createRoute, z } from '@hono/zod-openapi'
import { keyOf } from '../../domain/session.ts'
import { countedFor } from '../../access/rates.ts'
import { chatMessages } from './chat-messages.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { App, AppDependencies } from '../dependencies.ts'
import { incomingParts, refuseSameNames } from './incoming-content.ts'
import { messageResource } from './resources/message.ts'
import { readChatCursor, readMessageCursor, writeChatCursor, writeMessageCursor } from './page-cursor.ts'
import { READ_PROBLEMS } from './responses.ts'
import { respondWithRun, lastMessage, placementOf } from './run-response.ts'
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
export function messageRoutes(app: App, dependencies: AppDependencies): void {
  const { service, reader } = dependencies

  app.openapi(sendMessage, async (c) => {
    const caller = c.get('caller')
    const { content, tools = [], user, metadata, on_busy: onBusy } = c.req.valid('json')
    const session = await enterSession(dependencies, caller, c.req.valid('param').session)
    const key = keyOf(session)
    refuseSameNames(tools)
    const since = await lastMessage(dependencies, key)
    const submission = {
      parts: incomingParts(content),
      clientTools: tools,
      ...definedFields({ user, metadata, onBusy }),
      ...countedFor(caller),
      ...(await idempotencyOf(c)),
    }
    const { runId, repeated } = await service.submit(session, submission, placementOf(c))
    const response = await respondWithRun(dependencies, c, {
      key,
      runId,
      ...(repeated ? {} : definedFields({ since })),
    })
    return response instanceof Response ? response : c.json(response.run, response.status, response.headers)
  })

  app.openapi(listMessages, async (c) => {
    const session = await findSession(dependencies, c.get('caller'), c.req.valid('param').session)
    const { format, limit, order, after, before, roles, run, agent } = c.req.valid('query')
    if (format === 'openai') {
      const page = await chatMessages(dependencies, session, readChatCursor(after), limit)
      const next = page.next === undefined ? null : writeChatCursor(page.next)
      return c.json({ object: 'list' as const, data: page.messages, next, has_more: next !== null }, 200)
    }
    const { messages, more } = await reader.messages(session, {
      order: order === 'asc' ? 'ascending' : 'descending',
      limit,
      ...readMessageCursor(after, before),
      ...definedFields({ roles: readRoles(roles), run, agent }),
    })
    const data = messages.map((message) => messageResource(session.session, message))
    const last = messages.at(-1)?.id
    const next = more && last !== undefined ? writeMessageCursor(order, last) : null
    return c.json({ object: 'list' as const, data, next, has_more: more }, 200)
  })
}

type Role = 'user' | 'assistant' | 'tool'

const readRoles = (roles: string | undefined): Role[] | undefined =>
  roles === undefined ? undefined : ([...new Set(roles.split(','))] as Role[])
