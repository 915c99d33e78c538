import { jsonText } from '../../log/json/well-formed.ts'
import { cutBefore } from '../../domain/session-title.ts'
import { createRoute, z } from '@hono/zod-openapi'
import type { Agent } from '../../domain/agent.ts'
import type { Caller } from '../../access/caller.ts'
import type { App, AppDependencies } from '../dependencies.ts'
import { aliasedAgent } from '../agent-alias.ts'
import { RequestError } from '../middleware/request-error.ts'
import { ModelListSchema, ModelSchema } from './chat/chat-schemas.ts'
import { OPENAI_READ_PROBLEMS } from './problems.ts'

const listModels = createRoute({
  method: 'get',
  path: '/openai/v1/models',
  operationId: 'listModels',
  summary: 'Our agents, as models',
  tags: ['OpenAI'],
  responses: {
    200: { description: 'Those that the key may use.', content: { 'application/json': { schema: ModelListSchema } } },
    ...OPENAI_READ_PROBLEMS,
  },
})

const readModel = createRoute({
  method: 'get',
  path: '/openai/v1/models/{model}',
  operationId: 'readModel',
  summary: 'An agent, as a model',
  tags: ['OpenAI'],
  request: {
    params: z.object({
      model: z
        .string()
        .max(128)
        .openapi({ param: { name: 'model', in: 'path' } }),
    }),
  },
  responses: {
    200: { description: 'The model.', content: { 'application/json': { schema: ModelSchema } } },
    ...OPENAI_READ_PROBLEMS,
  },
})

/** Lists the agents and their aliases as models. */
export function modelRoutes(app: App, dependencies: AppDependencies): void {
  const { agents, clock, settings } = dependencies
  // Agents are read once, when the process starts. So the start of the process is reported as their creation time.
  const created = Math.floor(clock.now() / 1000)
  const modelResource = (id: string) => ({ id, object: 'model', created, owned_by: 'tooltrail' }) as const
  const mayUse = (caller: Caller, name: string): boolean => caller.key?.agents?.includes(name) ?? true

  app.openapi(listModels, (c) => {
    const all = [...agents.keys(), ...(settings.aliases?.keys() ?? [])]
    const names = all.filter((name) => mayUse(c.get('caller'), aliasedAgent(dependencies, name)))
    return c.json({ object: 'list' as const, data: names.map(modelResource) }, 200)
  })

  app.openapi(readModel, (c) => {
    const { model } = c.req.valid('param')
    // An agent that the key may not use gets the same 404 as an unknown one.
    const known = mayUse(c.get('caller'), aliasedAgent(dependencies, model)) ? agents : new Map<string, Agent>()
    modelOf({ agents: known, settings }, model)
    return c.json(modelResource(model), 200)
  })
}

/** Finds the agent with a model's name or alias. An unknown model is rejected with the error of OpenAI's API. */
export function modelOf(dependencies: Pick<AppDependencies, 'agents' | 'settings'>, model: string): Agent {
  const agent = dependencies.agents.get(aliasedAgent(dependencies, model))
  if (agent !== undefined) return agent
  const detail = `there is no agent ${jsonText(cutBefore(model, 128))}: a model names one of GET /openai/v1/models`
  throw new RequestError(404, 'model_not_found', detail, { errors: [{ path: 'body.model', message: 'is no agent' }] })
}
