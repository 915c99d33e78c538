import { createRoute, z } from '@hono/zod-openapi'
import { enterSession, findSession } from '../../../access/sessions.ts'
import type { App, RouteDependencies } from '../../dependencies.ts'
import { loggedBody } from '../../streaming/logged-body.ts'
import { sessionResource } from '../sessions/resource.ts'
import { location, problems, READ_PROBLEMS, WRITE_PROBLEMS } from '../problem-responses.ts'
import { sessionParams } from '../fields.ts'
import { runHeaders } from '../messages/input-schema.ts'
import { SessionSchema } from '../sessions/schema.ts'
import { exportQuery, importQuery, ImportSchema, newFork, newImport } from './schema.ts'
import { createSpoolBudget } from './spool-budget.ts'
import { whileKeyLasts } from '../../streaming/until-key-revoked.ts'

const tags = ['Sessions']
const lines = z.string().openapi({ description: 'A JSON object a line.' })

const exportSession = createRoute({
  method: 'get',
  path: '/v1/sessions/{session}/export',
  operationId: 'exportSession',
  summary: 'Export the log',
  tags,
  request: { params: sessionParams, query: exportQuery },
  responses: {
    200: {
      description: 'The log, in pieces as it is read.',
      content: { 'application/x-ndjson': { schema: lines }, 'text/markdown': { schema: z.string() } },
    },
    ...READ_PROBLEMS,
  },
})

const importMessages = createRoute({
  method: 'post',
  path: '/v1/sessions/{session}/import',
  operationId: 'importMessages',
  summary: 'Append turns that were executed elsewhere',
  tags,
  request: {
    params: sessionParams,
    query: importQuery,
    headers: runHeaders,
    body: {
      description: 'Messages as JSON, or lines of the type `application/x-ndjson`.',
      content: { 'application/json': { schema: newImport }, 'application/x-ndjson': { schema: lines } },
    },
  },
  responses: {
    200: { description: 'What is in the log now.', content: { 'application/json': { schema: ImportSchema } } },
    ...WRITE_PROBLEMS,
    ...problems(422),
  },
})

const forkSession = createRoute({
  method: 'post',
  path: '/v1/sessions/{session}/fork',
  operationId: 'forkSession',
  summary: 'Copy a session up to a message',
  tags,
  request: { params: sessionParams, body: { content: { 'application/json': { schema: newFork } } } },
  responses: {
    201: {
      description: 'The new session.',
      content: { 'application/json': { schema: SessionSchema } },
      headers: location,
    },
    ...WRITE_PROBLEMS,
    ...problems(422),
  },
})

/** The routes for transferring logs: export, import, fork. */
export function transferRoutes(app: App, dependencies: RouteDependencies): void {
  const { calls, log, reader } = dependencies
  const spool = createSpoolBudget()
  const work = async () => (await import('./transfer-work.ts')).transferWork({ ...dependencies, spool })

  app.openapi(exportSession, async (c) => {
    const session = await findSession(dependencies, c.get('caller'), c.req.valid('param').session)
    const { pieces, mediaType } = (await work()).exported(session, c.req.valid('query'))
    const headers = { 'content-type': mediaType, 'cache-control': 'private, no-cache' }
    return new Response(loggedBody(c, log, whileKeyLasts(calls, c.get('caller'), pieces)), { headers })
  })

  app.openapi(importMessages, async (c) => {
    const call = await calls.open(c.get('caller'))
    try {
      const session = await enterSession(dependencies, c.get('caller'), c.req.valid('param').session)
      const body = c.req.valid('json')
      // Only a JSON body is parsed before this handler. Lines are streamed.
      if (typeof body === 'string') throw new Error('lines were read as a body')
      return c.json(await (await work()).importInto(session, c, c.req.valid('query'), body), 200)
    } finally {
      await call.close()
    }
  })

  app.openapi(forkSession, async (c) => {
    const call = await calls.open(c.get('caller'))
    try {
      const from = await enterSession(dependencies, c.get('caller'), c.req.valid('param').session)
      const session = await (await work()).fork(c.get('caller'), from, c.req.valid('json'))
      return c.json(await sessionResource(reader, session), 201, { location: `/v1/sessions/${session.session}` })
    } finally {
      await call.close()
    }
  })
}
