import { createRoute, z } from '@hono/zod-openapi'
import type { App, RouteDependencies } from '../../dependencies.ts'
import { sessionId } from '../../v1/fields.ts'
import { refuseMethod } from '../../middleware/error-response.ts'
import { runHeaders } from '../../v1/messages/input-schema.ts'
import { ForeignEventSchema } from '../../run-steps/stream-schema.ts'
import { OPENAI_CREATE_PROBLEMS, OPENAI_READ_PROBLEMS, openAiProblems } from '../problems.ts'
import { ItemListSchema, itemQuery } from '../conversations/conversation-schemas.ts'
import {
  DeletedResponseSchema,
  inputTokensRequest,
  InputTokensSchema,
  responseRequest,
  ResponseSchema,
} from './response-schemas.ts'

const tags = ['OpenAI']
const params = z.object({
  response: z
    .string()
    .max(256)
    .openapi({ param: { name: 'response', in: 'path' } }),
})
const content = {
  'application/json': { schema: ResponseSchema },
  'text/event-stream': { schema: ForeignEventSchema },
}

const createResponse = createRoute({
  method: 'post',
  path: '/openai/v1/responses',
  operationId: 'createResponse',
  summary: 'Responses: for clients of that API',
  tags,
  request: {
    headers: runHeaders.extend({
      'x-session-id': sessionId.optional().openapi({ description: 'The session; left out, it is found or made.' }),
      'x-tooltrail-tools': z
        .enum(['calls', 'text'], 'must be calls or text')
        .optional()
        .openapi({ description: 'With `calls`, calls of our own tools are shown. Default: `text`.' }),
    }),
    body: { required: true, content: { 'application/json': { schema: responseRequest } } },
  },
  responses: {
    200: { description: 'The Response; with `stream`, its events as server-sent events.', content },
    ...OPENAI_CREATE_PROBLEMS,
  },
})

const readResponse = createRoute({
  method: 'get',
  path: '/openai/v1/responses/{response}',
  operationId: 'readResponse',
  summary: 'A Response as it stands; with `stream`, its events from the first on',
  tags,
  request: {
    params,
    query: z.object({
      stream: z.enum(['true', 'false']).optional(),
      starting_after: z
        .string()
        .regex(/^[0-9]{1,15}$/, 'must be a sequence number')
        .optional()
        .openapi({ description: 'Only the events after the one with this sequence number.' }),
    }),
  },
  responses: { 200: { description: 'The Response, or its events.', content }, ...OPENAI_READ_PROBLEMS },
})

const cancelResponse = createRoute({
  method: 'post',
  path: '/openai/v1/responses/{response}/cancel',
  operationId: 'cancelResponse',
  summary: 'Cancel a Response that goes on',
  tags,
  request: { params },
  responses: {
    200: { description: 'The Response.', content: { 'application/json': { schema: ResponseSchema } } },
    ...OPENAI_READ_PROBLEMS,
  },
})

const deleteResponse = createRoute({
  method: 'delete',
  path: '/openai/v1/responses/{response}',
  operationId: 'deleteResponse',
  summary: 'Hide a Response; the log of its session stays',
  tags,
  request: { params },
  responses: {
    200: {
      description: 'No request finds the Response any more.',
      content: { 'application/json': { schema: DeletedResponseSchema } },
    },
    ...OPENAI_READ_PROBLEMS,
  },
})

const listInput = createRoute({
  method: 'get',
  path: '/openai/v1/responses/{response}/input_items',
  operationId: 'listInputItems',
  summary: 'The items that the request of a Response brought',
  tags,
  request: { params, query: itemQuery },
  responses: {
    200: {
      description: 'A page of items: outputs of calls, and the message of the user. Empty until the run has started.',
      content: { 'application/json': { schema: ItemListSchema } },
    },
    ...OPENAI_READ_PROBLEMS,
  },
})

const countTokens = createRoute({
  method: 'post',
  path: '/openai/v1/responses/input_tokens',
  operationId: 'countInputTokens',
  summary: 'Estimate the input tokens of a Response, without making it',
  tags,
  request: {
    headers: z.object({ 'x-session-id': sessionId.optional() }),
    body: { content: { 'application/json': { schema: inputTokensRequest } } },
  },
  responses: {
    200: {
      description: 'The estimated tokens of the first request to the model.',
      content: { 'application/json': { schema: InputTokensSchema } },
    },
    ...openAiProblems(400, 401, 403, 404, 408, 413, 415, 429, 500, 503),
  },
})

/**
 * Serves Responses with our sessions. The handlers are imported with the first request, so that the API starts quickly.
 */
export function responseRoutes(app: App, dependencies: RouteDependencies): void {
  app.openapi(createResponse, async (c) => {
    const { serveCreate } = await import('./serve-response.ts')
    return serveCreate(dependencies, c, c.req.valid('json'))
  })

  app.openapi(countTokens, async (c) => {
    const { countInputTokens } = await import('./input-tokens.ts')
    const tokens = await countInputTokens(dependencies, c, c.req.valid('json'))
    return c.json({ object: 'response.input_tokens' as const, input_tokens: tokens }, 200)
  })
  // Without this route, the routes of `{response}` would match the path: GET would read a Response named `input_tokens`.
  app.all(countTokens.path, (c) => refuseMethod(c, ['POST']))

  app.openapi(listInput, async (c) => {
    const { serveInputItems } = await import('./serve-stored-response.ts')
    return serveInputItems(dependencies, c.get('caller'), c.req.valid('param').response, c.req.valid('query'))
  })

  app.openapi(deleteResponse, async (c) => {
    const handlers = await import('./serve-stored-response.ts')
    return c.json(await handlers.deleteResponse(dependencies, c.get('caller'), c.req.valid('param').response), 200)
  })

  app.openapi(readResponse, async (c) => {
    const { serveRead } = await import('./serve-response.ts')
    return serveRead(dependencies, c, c.req.valid('param').response, c.req.valid('query'))
  })

  app.openapi(cancelResponse, async (c) => {
    const { serveCancel } = await import('./serve-response.ts')
    return serveCancel(dependencies, c, c.req.valid('param').response)
  })
}
