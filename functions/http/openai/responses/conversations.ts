import { createRoute, z } from '@hono/zod-openapi'
import type { App, RouteDependencies } from '../../dependencies.ts'
import { pageLimit, sessionId } from '../../v1/fields.ts'
import { openAiProblems } from '../problems.ts'
import { conversationRequest, ConversationSchema, ItemListSchema } from './conversation-schemas.ts'

const tags = ['OpenAI']
const params = z.object({ conversation: sessionId.openapi({ param: { name: 'conversation', in: 'path' } }) })
const conversation = { 'application/json': { schema: ConversationSchema } }

const createConversation = createRoute({
  method: 'post',
  path: '/openai/v1/conversations',
  operationId: 'createConversation',
  summary: 'Make a session, as a conversation',
  tags,
  request: { body: { content: { 'application/json': { schema: conversationRequest } } } },
  responses: {
    200: { description: 'The conversation, which has the id of its session.', content: conversation },
    ...openAiProblems(400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 503),
  },
})

const readConversation = createRoute({
  method: 'get',
  path: '/openai/v1/conversations/{conversation}',
  operationId: 'readConversation',
  summary: 'A session, as a conversation',
  tags,
  request: { params },
  responses: {
    200: { description: 'The conversation.', content: conversation },
    ...openAiProblems(400, 401, 403, 404, 429, 500, 503),
  },
})

const listItems = createRoute({
  method: 'get',
  path: '/openai/v1/conversations/{conversation}/items',
  operationId: 'listConversationItems',
  summary: 'The log of a session, as items',
  tags,
  request: {
    params,
    query: z.object({
      after: z.string().max(256).optional().openapi({ description: "An item's id." }),
      limit: pageLimit(100, 20),
      order: z.enum(['asc', 'desc'], 'must be asc or desc').default('desc'),
    }),
  },
  responses: {
    200: { description: 'A page of items.', content: { 'application/json': { schema: ItemListSchema } } },
    ...openAiProblems(400, 401, 403, 404, 429, 500, 503),
  },
})

/** Serves sessions as conversations. The handlers are imported with the first request. */
export function conversationRoutes(app: App, dependencies: RouteDependencies): void {
  app.openapi(createConversation, async (c) => {
    const { makeConversation } = await import('./serve-conversation.ts')
    return c.json(await makeConversation(dependencies, c.get('caller'), c.req.valid('json')), 200)
  })

  app.openapi(readConversation, async (c) => {
    const { showConversation } = await import('./serve-conversation.ts')
    return c.json(await showConversation(dependencies, c.get('caller'), c.req.valid('param').conversation), 200)
  })

  app.openapi(listItems, async (c) => {
    const { pageOfItems } = await import('./serve-conversation.ts')
    return pageOfItems(dependencies, c.get('caller'), c.req.valid('param').conversation, c.req.valid('query'))
  })
}
