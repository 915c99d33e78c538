import { createRoute } from '@hono/zod-openapi'
import { nextId } from '../../../domain/ids.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { App, AppDependencies } from '../../dependencies.ts'
import { requireBody } from '../../middleware/request-body.ts'
import { location, READ_PROBLEMS, WRITE_PROBLEMS } from '../problem-responses.ts'
import { fitting } from '../../../log/page-bytes.ts'
import { sessionParams } from '../fields.ts'
import { DeletionSchema, newSession, sessionChange, SessionPageSchema, sessionQuery, SessionSchema } from './schema.ts'
import {
  changeSession as changeFor,
  createSession,
  findChangeableSession,
  findSession,
  listedOwner,
  sessionKey,
} from '../../../access/sessions.ts'
import { deletionResource, sessionResource } from './resource.ts'

const tags = ['Sessions']
const json = <Schema>(schema: Schema) => ({ 'application/json': { schema } })

const newSessionRoute = createRoute({
  method: 'post',
  path: '/v1/sessions',
  operationId: 'createSession',
  summary: 'Create a session',
  tags,
  request: { body: { content: json(newSession) } },
  responses: {
    201: { description: 'The new session.', content: json(SessionSchema), headers: location },
    ...WRITE_PROBLEMS,
  },
})

const listSessions = createRoute({
  method: 'get',
  path: '/v1/sessions',
  operationId: 'listSessions',
  summary: 'List sessions, newest activity first',
  tags,
  request: { query: sessionQuery },
  responses: { 200: { description: 'A page of sessions.', content: json(SessionPageSchema) }, ...READ_PROBLEMS },
})

const readSession = createRoute({
  method: 'get',
  path: '/v1/sessions/{session}',
  operationId: 'readSession',
  summary: 'Read a session',
  tags,
  request: { params: sessionParams },
  responses: { 200: { description: 'The session.', content: json(SessionSchema) }, ...READ_PROBLEMS },
})

const changeSession = createRoute({
  method: 'patch',
  path: '/v1/sessions/{session}',
  operationId: 'changeSession',
  summary: "Change a session's user, title, metadata, agent or instructions",
  middleware: requireBody,
  tags,
  request: { params: sessionParams, body: { required: true, content: json(sessionChange) } },
  responses: { 200: { description: 'The session as it is now.', content: json(SessionSchema) }, ...WRITE_PROBLEMS },
})

const deleteSession = createRoute({
  method: 'delete',
  path: '/v1/sessions/{session}',
  operationId: 'deleteSession',
  summary: 'Delete a session and everything in it',
  tags,
  request: { params: sessionParams },
  responses: {
    200: { description: 'All of it is gone.', content: json(DeletionSchema) },
    202: { description: 'It goes on in the background.', content: json(DeletionSchema), headers: location },
    ...WRITE_PROBLEMS,
  },
})

/** Sessions: create, list, read, change, delete. */
export function sessionRoutes(app: App, dependencies: AppDependencies): void {
  readingRoutes(app, dependencies)
  changingRoutes(app, dependencies)
}

function readingRoutes(app: App, dependencies: AppDependencies): void {
  const { sessions, reader } = dependencies

  app.openapi(listSessions, async (c) => {
    const caller = c.get('caller')
    const { owner, run_status: runStatus, ...rest } = c.req.valid('query')
    const shown = listedOwner(caller, owner)
    if (shown === undefined) return c.json({ object: 'list' as const, data: [], next: null, has_more: false }, 200)
    const { limit, ...filters } = rest
    const list = (most: number) =>
      sessions.list({
        tenant: caller.tenant,
        limit: most,
        ...definedFields({ ...filters, runStatus }),
        ...shown,
      })
    let page = await list(limit)
    const room = fitting(page.sessions).length
    // Only the store knows the cursor of a shorter page.
    if (room < page.sessions.length) page = await list(room)
    const data = await Promise.all(page.sessions.map((session) => sessionResource(reader, session)))
    return c.json({ object: 'list' as const, data, next: page.next ?? null, has_more: page.next !== undefined }, 200)
  })

  app.openapi(readSession, async (c) => {
    const session = await findSession(dependencies, c.get('caller'), c.req.valid('param').session)
    return c.json(await sessionResource(reader, session), 200)
  })
}

function changingRoutes(app: App, dependencies: AppDependencies): void {
  const { reader, service, clock } = dependencies

  app.openapi(newSessionRoute, async (c) => {
    const caller = c.get('caller')
    const { id, agent = 'default', metadata = {}, owner, ...rest } = c.req.valid('json')
    const session = await createSession(dependencies, caller, {
      session: id ?? nextId(undefined, clock.now()),
      agent,
      metadata,
      ...definedFields({ owner, ...rest }),
    })
    return c.json(await sessionResource(reader, session), 201, { location: `/v1/sessions/${session.session}` })
  })

  app.openapi(changeSession, async (c) => {
    const change = definedFields(c.req.valid('json'))
    const session = await changeFor(dependencies, c.get('caller'), c.req.valid('param').session, change)
    return c.json(await sessionResource(reader, session), 200)
  })

  app.openapi(deleteSession, async (c) => {
    const caller = c.get('caller')
    const session = await findChangeableSession(dependencies, caller, c.req.valid('param').session)
    const key = sessionKey(caller, session.session)
    const state = await service.deleteSession(key)
    if (state.removed) return c.json(deletionResource(key, state), 200)
    return c.json(deletionResource(key, state), 202, { location: `/v1/deletions/${key.session}` })
  })
}
