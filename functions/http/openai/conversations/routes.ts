import { createRoute } from '@hono/zod-openapi'
import type { App, RouteDependencies } from '../../dependencies.ts'
import { conversationItemRoutes } from './item-routes.ts'
import { OPENAI_CREATE_PROBLEMS, OPENAI_READ_PROBLEMS, openAiProblems } from '../problems.ts'
import {
  conversationChange,
  conversationParams as params,
  conversationRequest,
  ConversationSchema,
  DeletedConversationSchema,
} from './conversation-schemas.ts'

const tags = ['OpenAI']
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
    ...OPENAI_CREATE_PROBLEMS,
  },
})

const readConversation = createRoute({
  method: 'get',
  path: '/openai/v1/conversations/{conversation}',
  operationId: 'readConversation',
  summary: 'A session, as a conversation',
  tags,
  request: { params },
  responses: { 200: { description: 'The conversation.', content: conversation }, ...OPENAI_READ_PROBLEMS },
})

const updateConversation = createRoute({
  method: 'post',
  path: '/openai/v1/conversations/{conversation}',
  operationId: 'updateConversation',
  summary: 'Replace the metadata of a conversation',
  tags,
  request: { params, body: { required: true, content: { 'application/json': { schema: conversationChange } } } },
  responses: {
    200: { description: 'The conversation as it is now.', content: conversation },
    ...openAiProblems(400, 401, 403, 404, 408, 413, 415, 429, 500, 503),
  },
})

const deleteConversation = createRoute({
  method: 'delete',
  path: '/openai/v1/conversations/{conversation}',
  operationId: 'deleteConversation',
  summary: 'Delete a conversation, which is a session, with everything in it',
  tags,
  request: { params },
  responses: {
    200: {
      description: 'No request finds it any more. Its rows are removed now or in the background.',
      content: { 'application/json': { schema: DeletedConversationSchema } },
    },
    ...OPENAI_READ_PROBLEMS,
  },
})

/** Serves sessions as conversations, and their logs as items. The handlers are imported with the first request. */
export function conversationRoutes(app: App, dependencies: RouteDependencies): void {
  conversationItemRoutes(app, dependencies)
  const handlers = () => import('./serve-conversation.ts')

  app.openapi(createConversation, async (c) => {
    const { makeConversation } = await handlers()
    return c.json(await makeConversation(dependencies, c.get('caller'), c.req.valid('json')), 200)
  })

  app.openapi(readConversation, async (c) => {
    const { showConversation } = await handlers()
    return c.json(await showConversation(dependencies, c.get('caller'), c.req.valid('param').conversation), 200)
  })

  app.openapi(updateConversation, async (c) => {
    const { changeConversation } = await handlers()
    const { metadata } = c.req.valid('json')
    const { conversation: id } = c.req.valid('param')
    return c.json(await changeConversation(dependencies, c.get('caller'), id, metadata ?? {}), 200)
  })

  app.openapi(deleteConversation, async (c) => {
    const { removeConversation } = await handlers()
    return c.json(await removeConversation(dependencies, c.get('caller'), c.req.valid('param').conversation), 200)
  })
}
