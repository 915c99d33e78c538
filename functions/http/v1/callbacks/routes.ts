import { createRoute, type z } from '@hono/zod-openapi'
import { mayUse, requireAgent } from '../../../access/caller.ts'
import { findSession } from '../../../access/sessions.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { runOfDelivery, type Delivery } from '../../../domain/delivery.ts'
import { TooltrailError } from '../../../domain/errors.ts'
import type { App, AppDependencies } from '../../dependencies.ts'
import { RequestError } from '../../middleware/request-error.ts'
import { LIST_PROBLEMS, WRITE_PROBLEMS } from '../problem-responses.ts'
import { callbackParams, CALLBACK_CURSOR, CallbackPageSchema, callbackQuery, CallbackSchema } from './schema.ts'
import { timeText } from '../time-text.ts'

const tags = ['Callbacks']

const listCallbacks = createRoute({
  method: 'get',
  path: '/v1/callbacks',
  operationId: 'listCallbacks',
  summary: 'List callbacks, newest first',
  tags,
  request: { query: callbackQuery },
  responses: {
    200: { description: 'A page of callbacks.', content: { 'application/json': { schema: CallbackPageSchema } } },
    ...LIST_PROBLEMS,
  },
})

const redeliverCallback = createRoute({
  method: 'post',
  path: '/v1/callbacks/{callback}/redeliver',
  operationId: 'redeliverCallback',
  summary: 'Send a callback again, whatever its status, with the same id and body',
  tags,
  request: { params: callbackParams },
  responses: {
    202: { description: 'It is sent soon.', content: { 'application/json': { schema: CallbackSchema } } },
    ...WRITE_PROBLEMS,
  },
})

/** Lists and retries the deliveries to callback receivers. */
export function callbackRoutes(app: App, dependencies: AppDependencies): void {
  const { callbacks, sessions } = dependencies

  app.openapi(listCallbacks, async (c) => {
    const caller = c.get('caller')
    const { status, session, after, limit } = c.req.valid('query')
    if (session !== undefined) await findSession(dependencies, caller, session)
    const of = session === undefined ? { owner: caller.owner } : { session }
    const filter = { tenant: caller.tenant, limit, ...definedFields({ ...of, status, after }) }
    const page = await callbacks.list(filter)
    const { deliveries } = page
    const next = page.next === undefined ? null : `${CALLBACK_CURSOR}${page.next}`
    return c.json({ object: 'list' as const, data: deliveries.map(resource), next, has_more: next !== null }, 200)
  })

  app.openapi(redeliverCallback, async (c) => {
    const caller = c.get('caller')
    if (!mayUse(caller, 'admin')) throw new RequestError(403, 'scope_missing', 'this key lacks the scope admin')
    const { callback: id } = c.req.valid('param')
    const found = await callbacks.find(caller.tenant, id)
    const session = found && (await sessions.read(found))
    // A caller bound to an owner sees only the callbacks of that owner's sessions.
    if (found === undefined || (caller.owner !== undefined && session?.owner !== caller.owner))
      throw new TooltrailError('callback_not_found', `there is no callback ${id}`)
    if (session !== undefined) requireAgent(caller, session.agent)
    return c.json(resource(await callbacks.redeliver(found)), 202)
  })

  function resource(delivery: Delivery): z.input<typeof CallbackSchema> {
    const { name, attempts, next } = callbacks.shown(delivery)
    return {
      object: 'callback',
      id: delivery.id,
      name,
      session_id: delivery.session,
      run_id: runOfDelivery(delivery),
      status: delivery.status,
      attempts: attempts.map(({ at, ...what }) => ({ at: timeText(at), ...what })),
      ...(next === undefined ? {} : { next_at: timeText(next) }),
    }
  }
}
