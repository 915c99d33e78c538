import { namingFields } from './replaced-run.ts'
import { createRoute, z } from '@hono/zod-openapi'
import { keyOf } from '../../../domain/session.ts'
import { countedFor } from '../../../access/rates.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { NewDelivery } from '../../../domain/delivery.ts'
import type { Callbacks } from '../../../ports/callbacks.ts'
import { invalidRequest } from '../../middleware/validation.ts'
import type { App, RouteDependencies } from '../../dependencies.ts'
import { bytesResponse } from '../../streaming/json-response.ts'
import { incomingParts, refuseMissingTool, refuseServerTools, refuseTakenNames } from './incoming-content.ts'
import { refuseUnknownChoice } from './tool-choice.ts'
import { imageCallerOf, withImages } from './incoming-images.ts'
import { LIST_PROBLEMS } from '../problem-responses.ts'
import { lastMessage, placementOf, respondWithRun, whileWaitingFor } from '../runs/response.ts'
import { idempotencyOf, RUN_RESPONSES, startHeaders } from '../runs/request.ts'
import { sessionParams } from '../fields.ts'
import { newMessage } from './input-schema.ts'
import { requestSettings } from './settings-schema.ts'
import { ChatMessagePageSchema, MessagePageSchema, messageQuery } from './schema.ts'
import { enterSession, findSession } from '../../../access/sessions.ts'

const tags = ['Messages']

type Page = z.input<typeof MessagePageSchema> | z.input<typeof ChatMessagePageSchema>

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
    ...LIST_PROBLEMS,
  },
})

/** Routes for inputs to a session, and for its log. */
export function messageRoutes(app: App, dependencies: RouteDependencies): void {
  const { service, shared, builds, settings, agents, callbacks } = dependencies

  app.openapi(sendMessage, async (c) =>
    whileWaitingFor(dependencies, c, async (call) => {
      const caller = c.get('caller')
      const body = c.req.valid('json')
      const { content, replaces, tools = [], user, metadata, on_busy: onBusy, callback } = body
      const session = await enterSession(dependencies, caller, c.req.valid('param').session)
      const key = keyOf(session)
      refuseTakenNames(tools)
      await refuseServerTools(dependencies, session.agent, tools)
      refuseMissingTool(agents, session.agent, tools)
      refuseUnknownChoice(agents.get(session.agent), tools, body.tool_choice)
      const delivery = callback === undefined ? undefined : deliveryTo(callbacks, callback)
      // All messages of a new run are new to the caller. If the input joins a run, the caller may know messages of it.
      const isSteering = (onBusy ?? agents.get(session.agent)?.policies.onBusy) === 'steer'
      const joins = isSteering && replaces === undefined
      const since = joins ? await lastMessage(dependencies, key) : undefined
      const submission = {
        clientTools: tools,
        settings: requestSettings(body),
        ...definedFields({ user, metadata, onBusy, delivery, replaces }),
        ...countedFor(caller, settings.caps),
        ...(await idempotencyOf(c)),
      }
      const sent = content === undefined ? [] : [incomingParts(content)]
      const placed = sent.map((parts) => ({ path: 'body.content', field: 'data', addressField: 'url', parts }))
      const { repeated, ...accepted } = await withImages(dependencies, imageCallerOf(c), placed, ([parts]) =>
        namingFields(replaces, () => service.submit(session, { ...submission, parts }, placementOf(c))),
      )
      return respondWithRun(dependencies, c, call, { key, ...accepted, ...(repeated ? {} : definedFields({ since })) })
    }),
  )

  app.openapi(listMessages, async (c) => {
    const session = await findSession(dependencies, c.get('caller'), c.req.valid('param').session)
    const query = c.req.valid('query')
    const { tenant } = session
    const name = `${session.session}?${JSON.stringify(query)}`
    // The module is imported with the first page, because it is not needed at startup.
    const { messagePage } = await import('./pages.ts')
    return bytesResponse<Page>(
      shared.of(session.tenant),
      await builds.build(tenant, name, () => messagePage(dependencies, session, query)),
    )
  })
}

/** Returns a delivery for the callback with this name. Rejects an unknown name. */
function deliveryTo(callbacks: Callbacks, name: string): NewDelivery {
  if (callbacks.has(name)) return callbacks.delivery(name)
  throw invalidRequest([{ path: 'body.callback', message: 'is not the name of a callback in the settings' }])
}
