import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { OpenCall } from '../../../access/open-calls.ts'
import type { App, AppEnv, RouteDependencies } from '../../dependencies.ts'
import { eventStream } from '../../event-stream.ts'
import { describeError } from '../../middleware/error-response.ts'
import { refuseFalseImages, refuseMissingTool, refuseTakenNames } from '../../v1/incoming-content.ts'
import { problems, WRITE_PROBLEMS } from '../../v1/responses.ts'
import { whileCounted } from '../../v1/run-response.ts'
import { agentName } from '../../v1/schemas/fields.ts'
import { followSteps } from '../follow-steps.ts'
import type { FollowedRun } from '../follow-steps.ts'
import { ForeignEventSchema } from '../stream-schema.ts'
import { acceptChatTurn, sha256 } from '../openai/chat-session.ts'
import { createAgUiEvents } from './ag-ui-events.ts'
import { agUiCallId } from './ag-ui-thread.ts'
import { readAgUiInput } from './ag-ui-input.ts'
import { runAgentInput } from './ag-ui-schemas.ts'
import type { RunAgentInput } from './ag-ui-schemas.ts'

const runAgent = createRoute({
  method: 'post',
  path: '/v1/ag-ui/{agent}',
  operationId: 'runAgent',
  summary: 'AG-UI: run an agent, and follow it',
  tags: ['AG-UI'],
  request: {
    params: z.object({ agent: agentName.openapi({ param: { name: 'agent', in: 'path' } }) }),
    body: { required: true, content: { 'application/json': { schema: runAgentInput } } },
  },
  responses: {
    200: { description: 'The events of AG-UI.', content: { 'text/event-stream': { schema: ForeignEventSchema } } },
    ...WRITE_PROBLEMS,
    ...problems(422),
  },
})

/** What AG-UI's `HttpAgent` speaks. */
export function agUiRoutes(app: App, dependencies: RouteDependencies): void {
  const { agents } = dependencies
  app.openapi(runAgent, async (c) =>
    whileCounted(dependencies, c, async (call) => {
      const { agent } = c.req.valid('param')
      const body = c.req.valid('json')
      const { input, decisions } = readAgUiInput(body)
      refuseTakenNames(input.tools)
      refuseMissingTool(agents.get(agent), input.tools)
      for (const { parts, at } of input.said) await refuseFalseImages(`body.messages[${at}].content`, parts)
      const run = await acceptChatTurn(dependencies, {
        caller: c.get('caller'),
        agent,
        user: undefined,
        session: body.threadId,
        bodyHash: sha256(await c.req.text()),
        // The client makes one for each of its runs.
        idempotencyKey: `ag-ui ${body.runId}`,
        isFirstTry: true,
        input,
        decisions,
        nameOf: agUiCallId,
      })
      return agUiStream(dependencies, c, call, body, run)
    }),
  )
}

function agUiStream(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  call: OpenCall,
  { threadId, runId }: RunAgentInput,
  run: FollowedRun,
): Response {
  const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
  const response = eventStream(
    { ...dependencies, stopping: dependencies.stopping() },
    c.get('request').signal,
    call,
    async function* frames(signal) {
      const events = createAgUiEvents({ threadId, runId, ours: run.runId })
      yield events.start().map(data).join('')
      try {
        const steps = followSteps(dependencies, run, signal)
        for (;;) {
          const next = await steps.next()
          const made = next.done === true ? events.end(next.value) : events.take(next.value)
          for (const event of made) yield data(event)
          if (next.done === true) return
        }
      } catch (error) {
        if (!(error instanceof Error)) throw error
        dependencies.log.error('a stream of AG-UI broke off', error)
        const { detail: message, code } = describeError(error)
        yield data({ type: 'RUN_ERROR', message, code })
      }
    },
  )
  response.headers.set('x-session-id', run.key.session)
  response.headers.set('x-run-id', run.runId)
  return response
}
