import { supersededBy } from '../../../domain/runs/replacement.ts'
import { createRoute, z } from '@hono/zod-openapi'
import { countedFor } from '../../../access/rates.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { bytesResponse } from '../../streaming/json-response.ts'
import type { App, RouteDependencies } from '../../dependencies.ts'
import { callResolutions, withOutputImages } from '../messages/incoming-content.ts'
import { imageCallerOf } from '../messages/incoming-images.ts'
import { MAX_PAGE_BYTES } from '../../../log/page-bytes.ts'
import { entriesOf, pageBytes } from '../page-entries.ts'
import { cursorNotFound } from '../page-cursor.ts'
import { LIST_PROBLEMS, READ_PROBLEMS, WRITE_PROBLEMS } from '../problem-responses.ts'
import {
  followRun,
  lastMessage,
  placementOf,
  respondWithRun,
  runAccepted,
  whileCounted,
  whileWaitingFor,
} from './response.ts'
import { idempotencyOf, resumeHeaders, RUN_RESPONSES, startHeaders } from './request.ts'
import { requireRun, runResource, viewRun, waitingCalls } from './resource.ts'
import type { RunResource, RunView } from './resource.ts'
import { runParams, sessionParams } from '../fields.ts'
import { ServerSentEventSchema } from './event-schema.ts'
import { toolResults } from '../messages/input-schema.ts'
import { RunPageSchema, runQuery, RunSchema } from './schema.ts'
import { enterSession, findChangeableSession, findSession } from '../../../access/sessions.ts'
import { startingWithUlid } from '../../../domain/ids.ts'
import { keyOf } from '../../../domain/session.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import { jsonText } from '../../../log/json/well-formed.ts'

const tags = ['Runs']

type RunPage = z.input<typeof RunPageSchema>

const EVENT_ID = startingWithUlid(':[a-z_.]{1,32}(?::[0-9]{1,9})?')
const run = { 'application/json': { schema: RunSchema } }

const listRuns = createRoute({
  method: 'get',
  path: '/v1/sessions/{session}/runs',
  operationId: 'listRuns',
  summary: 'List runs, newest first',
  tags,
  request: { params: sessionParams, query: runQuery },
  responses: {
    200: { description: 'A page of runs.', content: { 'application/json': { schema: RunPageSchema } } },
    ...LIST_PROBLEMS,
  },
})

const readRun = createRoute({
  method: 'get',
  path: '/v1/sessions/{session}/runs/{run}',
  operationId: 'readRun',
  summary: 'Read a run',
  tags,
  request: { params: runParams },
  responses: { 200: { description: 'The run.', content: run }, ...READ_PROBLEMS },
})

const readEvents = createRoute({
  method: 'get',
  path: '/v1/sessions/{session}/runs/{run}/events',
  operationId: 'readRunEvents',
  summary: "Follow a run's events: those so far, then live",
  tags,
  request: {
    params: runParams,
    headers: z.object({
      'last-event-id': z.string().optional().openapi({
        description: 'Goes on from the start of the round of this event; drop the ids you know.',
        example: '01JD2Q8N4T6W8Y0A2C4E6G8J0M:message.completed',
      }),
    }),
  },
  responses: {
    200: {
      description:
        'Server-sent events; the data of each is a `RunEvent`. The last one says how the run ended or why it waits.',
      content: { 'text/event-stream': { schema: ServerSentEventSchema } },
    },
    ...READ_PROBLEMS,
  },
})

const sendToolResults = createRoute({
  method: 'post',
  path: '/v1/sessions/{session}/runs/{run}/tool-results',
  operationId: 'sendToolResults',
  summary: 'Give results and decisions for waiting calls; the last one resumes the run',
  tags,
  request: {
    params: runParams,
    headers: resumeHeaders,
    body: { required: true, content: { 'application/json': { schema: toolResults } } },
  },
  responses: RUN_RESPONSES,
})

const cancelRun = createRoute({
  method: 'post',
  path: '/v1/sessions/{session}/runs/{run}/cancel',
  operationId: 'cancelRun',
  summary: 'Cancel a run',
  tags,
  request: { params: runParams },
  responses: {
    202: { description: 'The run; it is cancelled within a second unless it had ended.', content: run },
    ...WRITE_PROBLEMS,
  },
})

const continueSession = createRoute({
  method: 'post',
  path: '/v1/sessions/{session}/continue',
  operationId: 'continueSession',
  summary: 'Go on after a failure or a crash',
  tags,
  request: { params: sessionParams, headers: startHeaders },
  responses: RUN_RESPONSES,
})

/** The routes for runs of a session: read, follow, resolve calls, cancel, continue. */
export function runRoutes(app: App, dependencies: RouteDependencies): void {
  readingRoutes(app, dependencies)
  changingRoutes(app, dependencies)
}

function readingRoutes(app: App, dependencies: RouteDependencies): void {
  const { reader, shared, builds } = dependencies

  app.openapi(listRuns, async (c) => {
    const session = await findSession(dependencies, c.get('caller'), c.req.valid('param').session)
    const { after, limit, status } = c.req.valid('query')
    // If the cursor is not the id of a run of this session, it comes from another list.
    if (after !== undefined && (await reader.run(session, after)) === undefined) throw cursorNotFound()
    const query = { limit, mostCharacters: MAX_PAGE_BYTES, ...definedFields({ before: after, status }) }
    const name = jsonText(['runs', session.session, query])
    const page = await builds.build(session.tenant, name, () => runPage(reader, session, query))
    return bytesResponse<RunPage>(shared.of(session.tenant), page)
  })

  app.openapi(readRun, async (c) => {
    const { session, run: id } = c.req.valid('param')
    const found = await findSession(dependencies, c.get('caller'), session)
    // The document is queued, because the run's input may be long.
    const document = await builds.build(found.tenant, jsonText(['run', session, id]), async () =>
      Buffer.from(jsonText(runResource(session, await requireRun(reader, found, id), id))),
    )
    return bytesResponse<RunResource>(shared.of(found.tenant), document)
  })

  app.openapi(readEvents, async (c) => {
    const { session, run: runId } = c.req.valid('param')
    const { tenant } = await findSession(dependencies, c.get('caller'), session)
    const key = { tenant, session }
    await requireRun(reader, key, runId)
    const last = c.req.header('last-event-id')
    const after = last !== undefined && EVENT_ID.test(last) ? last : undefined
    return whileCounted(dependencies, c, async (call) => followRun(dependencies, c, call, { key, runId }, { after }))
  })
}

/** Builds a page of runs as JSON bytes. */
async function runPage(
  reader: LogReader,
  key: SessionKey,
  query: Parameters<LogReader['runs']>[1],
): Promise<Uint8Array<ArrayBuffer>> {
  const [{ runs, more }, replacements] = await Promise.all([reader.runs(key, query), reader.replacements(key)])
  const entries = await entriesOf(runs, async (entry) => {
    const view: RunView | undefined =
      entry.status === 'merged'
        ? await viewRun(reader, key, entry.id)
        : {
            run: entry,
            waiting: await waitingCalls(reader, key, entry),
            supersededBy: supersededBy(replacements, entry.id),
          }
    return runResource(key.session, view ?? { run: entry, waiting: [] }, entry.id)
  })
  const isCut = more || entries.texts.length < runs.length
  const last = runs[entries.texts.length - 1]?.id
  return pageBytes(entries, isCut && last !== undefined ? last : null, isCut)
}

function changingRoutes(app: App, dependencies: RouteDependencies): void {
  const { service, settings, reader } = dependencies

  app.openapi(sendToolResults, async (c) =>
    whileWaitingFor(dependencies, c, async (call) => {
      const { session, run: runId } = c.req.valid('param')
      const resolutions = callResolutions(c.req.valid('json'), await c.req.text())
      const found = await enterSession(dependencies, c.get('caller'), session)
      const key = { tenant: found.tenant, session }
      await requireRun(reader, key, runId)
      const since = await lastMessage(dependencies, key)
      await withOutputImages(dependencies, imageCallerOf(c), resolutions, (given) =>
        service.resolve(found, runId, given, placementOf(c)),
      )
      return respondWithRun(dependencies, c, call, { key, runId, ...definedFields({ since }) })
    }),
  )

  app.openapi(cancelRun, async (c) => {
    const { session, run: runId } = c.req.valid('param')
    const { tenant } = await findChangeableSession(dependencies, c.get('caller'), session)
    const key = { tenant, session }
    await requireRun(reader, key, runId)
    await service.cancel(key, runId)
    return runAccepted(dependencies, key, runId, await requireRun(reader, key, runId))
  })

  app.openapi(continueSession, async (c) =>
    whileWaitingFor(dependencies, c, async (call) => {
      const caller = c.get('caller')
      const session = await enterSession(dependencies, caller, c.req.valid('param').session)
      const key = keyOf(session)
      const since = await lastMessage(dependencies, key)
      const options = { ...countedFor(caller, settings.caps), ...(await idempotencyOf(c)) }
      const { repeated, ...accepted } = await service.continue(session, options, placementOf(c))
      return respondWithRun(dependencies, c, call, { key, ...accepted, ...(repeated ? {} : definedFields({ since })) })
    }),
  )
}
