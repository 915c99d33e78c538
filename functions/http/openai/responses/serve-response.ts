import type { Context } from 'hono'
import { sha256 } from '../../../domain/hash.ts'
import { findChangeableSession } from '../../../access/sessions.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { AppEnv, RouteDependencies } from '../../dependencies.ts'
import { bytesResponse, jsonResponse } from '../../streaming/json-response.ts'
import { refuseWrongTools } from '../../v1/messages/incoming-content.ts'
import { whileCounted } from '../../v1/runs/response.ts'
import { streamFrames } from '../../streaming/first-frame.ts'
import { clientCallId } from '../../run-steps/call-id.ts'
import { refused } from '../chat/chat-request.ts'
import { saysRetry } from '../sessions/chat-turn.ts'
import { turnHash } from '../sessions/message-fingerprint.ts'
import { imageCallerOf } from '../../v1/messages/incoming-images.ts'
import { withTurnImages } from '../sessions/turn-images.ts'
import { noteDelivered } from '../sessions/repeated-request.ts'
import { whenSent } from '../when-sent.ts'
import { acceptResponse, findResponse } from './accept-response.ts'
import type { NewResponse } from './accept-response.ts'
import { failedFrame, frames, remembering, settled, standing } from './follow-response.ts'
import { withReferences } from './request/item-references.ts'
import { requestedAgent } from './request/model-name.ts'
import { namedSession, requireOneName } from './request/named-session.ts'
import { readInput, readResponseRequest, requireNewInput } from './request/response-input.ts'
import type { ResponseRequest, ResponseResource } from './response-schemas.ts'
import { jsonText } from '../../../log/json/well-formed.ts'

/** Maximum time that a cancel waits for the end of its run. */
const CANCEL_MS = 2_000

/** Starts a Response, and responds with the Response or with its events. */
export const serveCreate = (
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  body: ResponseRequest,
): Promise<Response> =>
  whileCounted(dependencies, c, async (call) => {
    const wanted = await readWanted(dependencies, c, body)
    const { turn } = wanted
    const shown = await withTurnImages(dependencies, imageCallerOf(c), { turn, field: 'image_url' }, (ready) =>
      acceptResponse(dependencies, { ...wanted, turn: ready }),
    )
    const remember = remembering(dependencies, wanted, shown)
    const whole = async (): ReturnType<typeof standing> => {
      if (body.background !== true) return settled(dependencies, c, shown, { revoked: call.signal, remember })
      return standing(dependencies, shown)
    }
    const delivered = (): Promise<void> => noteDelivered(dependencies, shown.key, shown.attempt)
    const events = (signal: AbortSignal) => frames(dependencies, shown, { signal, remember, delivered })
    const response =
      body.stream === true
        ? await streamFrames(dependencies, c, call, events, failedFrame)
        : whenSent(
            jsonResponse(dependencies.shared.of(c.get('caller').tenant), await whole()),
            c.get('request').signal,
            delivered,
          )
    response.headers.set('x-session-id', shown.key.session)
    response.headers.set('x-run-id', shown.runId)
    return response
  })

/** Responds with a Response in its current state, or with its events. */
export async function serveRead(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  id: string,
  {
    stream,
    starting_after: from,
  }: { readonly stream?: string | undefined; readonly starting_after?: string | undefined },
) {
  const shown = await findResponse(dependencies, c.get('caller'), id)
  if (stream !== 'true') {
    const { builds, shared } = dependencies
    const make = async () => Buffer.from(jsonText(await standing(dependencies, shown)))
    return bytesResponse<ResponseResource>(
      shared.of(shown.key.tenant),
      await builds.build(shown.key.tenant, `response ${id}`, make),
    )
  }
  const after = from === undefined ? undefined : Number(from)
  return whileCounted(dependencies, c, (call) =>
    streamFrames(dependencies, c, call, (signal) => frames(dependencies, shown, { signal, after }), failedFrame),
  )
}

/** Cancels the run of a Response unless it has ended. */
export async function serveCancel(dependencies: RouteDependencies, c: Context<AppEnv>, id: string) {
  const { service, clock, shared } = dependencies
  const shown = await findResponse(dependencies, c.get('caller'), id)
  await findChangeableSession(dependencies, c.get('caller'), shown.key.session)
  const before = await standing(dependencies, shown)
  const isOver = before.status !== 'queued' && before.status !== 'in_progress' && !waits(before)
  if (isOver) return jsonResponse(shared.of(shown.key.tenant), before)
  await service.cancel(shown.key, shown.runId)
  const over = new AbortController()
  const late = clock.sleep(CANCEL_MS, over.signal).catch(() => undefined)
  await Promise.race([late, service.settled(shown.key, shown.runId, over.signal)])
  over.abort()
  return jsonResponse(shared.of(shown.key.tenant), await standing(dependencies, shown))
}

const waits = ({ metadata }: { readonly metadata: object }): boolean => 'tooltrail_waiting' in metadata

async function readWanted(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  body: ResponseRequest,
): Promise<NewResponse> {
  const { conversation, previous_response_id: previous } = body
  const named = c.req.header('x-session-id')
  const naming = { previous, conversation, header: named }
  requireOneName(naming)
  if (body.background === true && body.store === false)
    throw refused('background', 'needs store: true, because a Response that is not stored cannot be read later')
  const { agent, shown } = requestedAgent(dependencies, body.model)
  const caller = c.get('caller')
  const items = await withReferences(dependencies, caller, readInput(body.input), () =>
    namedSession(dependencies, caller, naming),
  )
  const { ignored, ...input } = readResponseRequest(body, items)
  requireNewInput(input)
  await refuseWrongTools(dependencies, agent.name, input)
  const user = body.user ?? body.safety_identifier ?? undefined
  const instructions = [body.instructions ?? '', input.instructions ?? ''].filter((text) => text !== '').join('\n\n')
  const identity = {
    caller,
    agent: agent.name,
    user,
    input,
    ...definedFields({ place: named ?? conversation ?? previous ?? undefined }),
    instructions: typeof body.instructions === 'string' ? instructions : null,
  }
  return {
    turn: {
      ...identity,
      session: named,
      isNamed: named !== undefined || typeof conversation === 'string',
      bodyHash: sha256(await c.req.text()),
      turnHash: turnHash(identity),
      idempotencyKey: c.req.header('idempotency-key'),
      isRetry: saysRetry(c.req.header('x-stainless-retry-count')),
      nameOf: clientCallId,
    },
    about: {
      model: body.model,
      ...definedFields({
        previous: previous ?? undefined,
        background: body.background ?? undefined,
        toolChoice: body.tool_choice ?? undefined,
        format: body.text?.format ?? undefined,
        metadata: input.metadata,
        user,
        safetyIdentifier: body.safety_identifier ?? undefined,
        promptCacheKey: body.prompt_cache_key ?? undefined,
        ignoredTools: ignored.length === 0 ? undefined : ignored,
      }),
    },
    conversation: conversation ?? undefined,
    isStored: body.store !== false,
    withCalls: (shown ?? c.req.header('x-tooltrail-tools')) === 'calls',
  }
}
