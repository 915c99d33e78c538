import { createRoute, z } from '@hono/zod-openapi'
import { TooltrailError } from '../../../domain/errors.ts'
import type { App, AppDependencies } from '../../dependencies.ts'
import { READ_PROBLEMS } from '../problem-responses.ts'
import { sessionId } from '../fields.ts'
import { DeletionSchema } from './schema.ts'
import { sessionKey } from '../../../access/sessions.ts'
import { deletionResource } from './resource.ts'

const readDeletion = createRoute({
  method: 'get',
  path: '/v1/deletions/{deletion}',
  operationId: 'readDeletion',
  summary: 'See how far a deletion has come',
  tags: ['Sessions'],
  request: { params: z.object({ deletion: sessionId.openapi({ param: { name: 'deletion', in: 'path' } }) }) },
  responses: {
    200: { description: 'What is gone so far.', content: { 'application/json': { schema: DeletionSchema } } },
    ...READ_PROBLEMS,
  },
})

/** Shows deletions that are in progress or finished less than 30 days ago. */
export function deletionRoutes(app: App, { service }: AppDependencies): void {
  app.openapi(readDeletion, async (c) => {
    const caller = c.get('caller')
    const key = sessionKey(caller, c.req.valid('param').deletion)
    const state = await service.deletionState(key, caller.owner)
    if (state === undefined) throw new TooltrailError('deletion_not_found', `there is no deletion ${key.session}`)
    return c.json(deletionResource(key, state), 200)
  })
}
