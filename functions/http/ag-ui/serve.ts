import type { Context } from 'hono'
import { sha256 } from '../../domain/hash.ts'
import type { OpenRequest } from '../../access/open-requests.ts'
import type { AppEnv, RouteDependencies } from '../dependencies.ts'
import { streamEvents } from '../streaming/event-stream.ts'
import { keyRevoked } from '../middleware/authentication.ts'
import { describeError } from '../middleware/error-response.ts'
import { aliasedAgent } from '../agent-alias.ts'
import { RequestError } from '../middleware/request-error.ts'
import { refuseWrongTools } from '../v1/messages/incoming-content.ts'
import { whileCounted } from '../v1/runs/response.ts'
import { followSteps } from '../run-steps/follow-steps.ts'
import type { FollowedRun } from '../run-steps/follow-steps.ts'
import { imageCallerOf } from '../v1/messages/incoming-images.ts'
import { withTurnImages } from '../openai/sessions/turn-images.ts'
import { acceptChatTurn } from '../openai/sessions/chat-session.ts'
import type { RunEnd } from '../run-steps/run-step.ts'
import { createAgUiEvents } from './events.ts'
import { agUiCallId } from './thread.ts'
import { readAgUiInput } from './input.ts'
import type { RunAgentInput } from './schemas.ts'
import { jsonText } from '../../log/json/well-formed.ts'

/** Runs an agent, and responds with its events. */
export const serveAgUi = (
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  name: string,
  body: RunAgentInput,
): Promise<Response> =>
  whileCounted(dependencies, c, async (call) => {
    // The agent's name is a part of this route's path.
    const agent = aliasedAgent(dependencies, name)
    if (!dependencies.agents.has(agent)) throw new RequestError(404, 'agent_not_found', `there is no agent ${name}`)
    const { input, decisions } = readAgUiInput(body)
    await refuseWrongTools(dependencies, agent, input)
    const bodyHash = sha256(await c.req.text())
    const turn = {
      caller: c.get('caller'),
      agent,
      user: undefined,
      session: body.threadId,
      isNamed: false,
      bodyHash,
      turnHash: bodyHash,
      // The client creates a run id for each of its runs.
      idempotencyKey: `ag-ui ${body.runId}`,
      isRetry: false,
      input,
      decisions,
      nameOf: agUiCallId,
    }
    const run = await withTurnImages(dependencies, imageCallerOf(c), { turn, field: 'source.value' }, (ready) =>
      acceptChatTurn(dependencies, ready),
    )
    return agUiStream(dependencies, c, call, body, run)
  })

const STOPPING = { message: 'the stream ended early, but the run continues', code: 'stopping' }

function agUiStream(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  call: OpenRequest,
  { threadId, runId, protocolVersion }: RunAgentInput,
  run: FollowedRun,
): Response {
  const data = (value: unknown): string => `data: ${jsonText(value)}\n\n`
  const response = streamEvents(dependencies, c, call, async function* frames(signal) {
    const events = createAgUiEvents({ threadId, runId, ours: run.runId, protocolVersion })
    const last = (end: RunEnd | undefined) =>
      end === undefined ? events.breakOff(call.signal.aborted ? keyRevoked() : STOPPING) : events.end(end)
    yield events.start().map(data).join('')
    try {
      const steps = followSteps(dependencies, run, signal)
      for (;;) {
        const next = await steps.next()
        const made = next.done === true ? last(next.value) : events.take(next.value)
        for (const event of made) yield data(event)
        if (next.done === true) return
      }
    } catch (error) {
      if (!(error instanceof Error)) throw error
      dependencies.log.error('a stream of AG-UI broke off', error)
      const { detail: message, code } = describeError(error)
      yield data({ type: 'RUN_ERROR', message, code })
    }
  })
  response.headers.set('x-session-id', run.key.session)
  response.headers.set('x-run-id', run.runId)
  return response
}
