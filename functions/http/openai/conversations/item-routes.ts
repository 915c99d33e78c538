import { createRoute } from '@hono/zod-openapi'
import type { App, RouteDependencies } from '../../dependencies.ts'
import { runHeaders } from '../../v1/messages/input-schema.ts'
import { OPENAI_CREATE_PROBLEMS, OPENAI_READ_PROBLEMS, openAiProblems } from '../problems.ts'
import {
  conversationParams as params,
  itemParams,
  ItemListSchema,
  itemQuery,
  ItemSchema,
  newItems,
} from './conversation-schemas.ts'

const tags = ['OpenAI']
const list = { 'application/json': { schema: ItemListSchema } }

const listItems = createRoute({
  method: 'get',
  path: '/openai/v1/conversations/{conversation}/items',
  operationId: 'listConversationItems',
  summary: 'The log of a session, as items',
  tags,
  request: { params, query: itemQuery },
  responses: { 200: { description: 'A page of items.', content: list }, ...OPENAI_READ_PROBLEMS },
})

const createItems = createRoute({
  method: 'post',
  path: '/openai/v1/conversations/{conversation}/items',
  operationId: 'createConversationItems',
  summary: 'Append items to the log of a session',
  tags,
  request: {
    params,
    headers: runHeaders,
    body: { required: true, content: { 'application/json': { schema: newItems } } },
  },
  responses: { 200: { description: 'The new items. No run is started.', content: list }, ...OPENAI_CREATE_PROBLEMS },
})

const readItem = createRoute({
  method: 'get',
  path: '/openai/v1/conversations/{conversation}/items/{item}',
  operationId: 'readConversationItem',
  summary: 'An item of a conversation',
  tags,
  request: { params: itemParams },
  responses: {
    200: { description: 'The item.', content: { 'application/json': { schema: ItemSchema } } },
    ...OPENAI_READ_PROBLEMS,
  },
})

const deleteItem = createRoute({
  method: 'delete',
  path: '/openai/v1/conversations/{conversation}/items/{item}',
  operationId: 'deleteConversationItem',
  summary: 'Refused: the log of a session only grows',
  tags,
  request: { params: itemParams },
  responses: openAiProblems(400, 401, 403, 404, 422, 429, 500, 503),
})

/** Serves the log of a session as items. The handlers are imported with the first request. */
export function conversationItemRoutes(app: App, dependencies: RouteDependencies): void {
  const handlers = () => import('./serve-items.ts')

  app.openapi(listItems, async (c) => {
    const { pageOfItems } = await handlers()
    return pageOfItems(dependencies, c.get('caller'), c.req.valid('param').conversation, c.req.valid('query'))
  })

  app.openapi(createItems, async (c) => {
    const { appendItems } = await handlers()
    return c.json(await appendItems(dependencies, c, c.req.valid('param').conversation, c.req.valid('json').items), 200)
  })

  app.openapi(readItem, async (c) => {
    const { showItem } = await handlers()
    const { conversation, item } = c.req.valid('param')
    return c.json(await showItem(dependencies, c.get('caller'), conversation, item), 200)
  })

  app.openapi(deleteItem, async (c) => {
    const { refuseItemDeletion } = await handlers()
    const { conversation, item } = c.req.valid('param')
    return refuseItemDeletion(dependencies, c.get('caller'), conversation, item)
  })
}
