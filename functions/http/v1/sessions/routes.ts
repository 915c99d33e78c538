import { createRoute, z } from '@hono/zod-openapi'
import type { Caller } from '../../../access/caller.ts'
import { boundsOf } from '../../../domain/history.ts'
import type { SessionFilter } from '../../../domain/session-filter.ts'
import { etagOf, isNamed } from '../../etag.ts'
import { bytesResponse } from '../../streaming/json-response.ts'
import { metadataFilters } from '../metadata-filter.ts'
import { nextId } from '../../../domain/ids.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { App, RouteDependencies } from '../../dependencies.ts'
import { requireBody } from '../../middleware/request-body.ts'
import { LIST_PROBLEMS, location, READ_PROBLEMS, WRITE_PROBLEMS } from '../problem-responses.ts'
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
import { jsonText } from '../../../log/json/well-formed.ts'

type SessionPage = z.input<typeof SessionPageSchema>

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
  summary: 'List sessions, the one with the newest message first',
  description:
    'A page may be short, or empty, although more sessions follow: `next` says so. With the `etag` of an earlier response in `if-none-match`, a page that has not changed since is 304, without a body.',
  tags,
  request: { query: sessionQuery },
  responses: {
    200: {
      description: 'A page of sessions.',
      content: json(SessionPageSchema),
      headers: z.object({ etag: z.string() }),
    },
    304: { description: 'The page has not changed.' },
    ...LIST_PROBLEMS,
  },
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

/** The routes for sessions: create, list, read, change, delete. */
export function sessionRoutes(app: App, dependencies: RouteDependencies): void {
  readingRoutes(app, dependencies)
  changingRoutes(app, dependencies)
}

function readingRoutes(app: App, dependencies: RouteDependencies): void {
  const { sessions, reader, shared } = dependencies

  app.openapi(listSessions, async (c) => {
    const caller = c.get('caller')
    const query = c.req.valid('query')
    const shown = listedOwner(caller, query.owner)
    const page = shown === undefined ? NO_SESSIONS : await pageOf({ ...filterOf(caller, query), ...shown })
    const json = Buffer.from(jsonText(page))
    const headers = { etag: etagOf(json), 'cache-control': 'private, no-cache' }
    if (isNamed(c.req.header('if-none-match'), headers.etag)) return c.body(null, 304, headers)
    return bytesResponse<SessionPage>(shared.of(caller.tenant), json, headers)
  })

  async function pageOf(filter: SessionFilter): Promise<SessionPage> {
    let page = await sessions.list(filter)
    const fitted = fitting(page.sessions).length
    // The page is read again with fewer sessions, because only the store knows the cursor of a shorter page.
    if (fitted < page.sessions.length) page = await sessions.list({ ...filter, limit: fitted })
    const data = await Promise.all(page.sessions.map((session) => sessionResource(reader, session)))
    return { object: 'list', data, next: page.next ?? null, has_more: page.next !== undefined }
  }

  app.openapi(readSession, async (c) => {
    const session = await findSession(dependencies, c.get('caller'), c.req.valid('param').session)
    return c.json(await sessionResource(reader, session), 200)
  })
}

const NO_SESSIONS: SessionPage = { object: 'list', data: [], next: null, has_more: false }

function filterOf({ tenant }: Caller, query: z.output<typeof sessionQuery>): SessionFilter {
  const { run_status: runStatus, agent, sort, order, since, until, q, limit, after } = query
  const metadata = metadataFilters(query)
  return {
    ...{ tenant, limit, sort, order },
    ...definedFields({ runStatus, agent, q, after }),
    ...boundsOf({ since, until }),
    ...(metadata.length === 0 ? {} : { metadata }),
  }
}

function changingRoutes(app: App, dependencies: RouteDependencies): void {
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
