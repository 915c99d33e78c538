import { createRoute } from '@hono/zod-openapi'
import type { Agent } from '../../../domain/agent.ts'
import type { App, AppDependencies } from '../../dependencies.ts'
import { RequestError } from '../../middleware/request-error.ts'
import { ModelListSchema } from './chat-schemas.ts'
import { openAiProblems } from './problems.ts'

const listModels = createRoute({
  method: 'get',
  path: '/openai/v1/models',
  operationId: 'listModels',
  summary: 'Our agents, as models',
  tags: ['OpenAI'],
  responses: {
    200: { description: 'Those that the key may use.', content: { 'application/json': { schema: ModelListSchema } } },
    ...openAiProblems(400, 401, 403, 404, 429, 500, 503),
  },
})

/** Agents where clients look for models. */
export function modelRoutes(app: App, { agents }: AppDependencies): void {
  app.openapi(listModels, (c) => {
    const allowed = c.get('caller').key?.agents
    const names = [...agents.keys()].filter((name) => allowed?.includes(name) ?? true)
    const data = names.map((id) => ({ id, object: 'model' as const, created: 0, owned_by: 'tooltrail' as const }))
    return c.json({ object: 'list' as const, data }, 200)
  })
}

/** The agent that a model's name means; refused as OpenAI's API refuses unknown models. */
export function modelOf(agents: ReadonlyMap<string, Agent>, model: string): Agent {
  const agent = agents.get(model)
  if (agent !== undefined) return agent
  const detail = `there is no agent ${JSON.stringify(model.slice(0, 128))}: a model names one of GET /openai/v1/models`
  throw new RequestError(404, 'model_not_found', detail, { errors: [{ path: 'body.model', message: 'is no agent' }] })
}
