import type { Context } from 'hono'
import { sha256 } from '../../../domain/hash.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { SESSION_PATTERN } from '../../../domain/ids.ts'
import { jsonFormat } from '../../../domain/runs/request-settings.ts'
import type { AppEnv, RouteDependencies } from '../../dependencies.ts'
import { jsonResponse } from '../../streaming/json-response.ts'
import { keyRevoked } from '../../middleware/authentication.ts'
import { openAiErrorOf } from '../../middleware/openai-error.ts'
import { RequestError } from '../../middleware/request-error.ts'
import { describeError } from '../../middleware/error-response.ts'
import { refuseWrongTools } from '../../v1/messages/incoming-content.ts'
import { whileCounted } from '../../v1/runs/response.ts'
import { BAD_SESSION_ID } from '../../v1/fields.ts'
import { streamFrames } from '../../streaming/first-frame.ts'
import { followSteps } from '../../run-steps/follow-steps.ts'
import { createTypedTexts } from '../../run-steps/typed-texts.ts'
import type { AcceptedTurn } from '../sessions/chat-session.ts'
import { createChatChunks } from './chat-chunks.ts'
import type { ChatCall, ChatEnd } from './chat-chunks.ts'
import { readChatRequest, refused } from './chat-request.ts'
import type { ChatCompletion, ChatCompletionRequest, ChatMessage } from './chat-schemas.ts'
import { saysRetry } from '../sessions/chat-turn.ts'
import type { ChatTurn } from '../sessions/chat-turn.ts'
import { turnHash } from '../sessions/message-fingerprint.ts'
import { imageCallerOf } from '../../v1/messages/incoming-images.ts'
import { withTurnImages } from '../sessions/turn-images.ts'
import { noteDelivered } from '../sessions/repeated-request.ts'
import { acceptTurn, rememberShown } from '../sessions/session-by-history.ts'
import { modelOf } from '../models.ts'
import { requestNumber } from '../responses/response-run.ts'
import { whenSent } from '../when-sent.ts'
import { jsonText } from '../../../log/json/well-formed.ts'

/** Maximum time that a non-streaming request waits for its run, in milliseconds. */
export const MAX_RUN_WAIT_MS = 240_000

/** Starts a completion, and responds with the completion or with its chunks. */
export const serveChatCompletion = (
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  body: ChatCompletionRequest,
): Promise<Response> =>
  whileCounted(dependencies, c, async (call) => {
    const turn = await readTurn(dependencies, c, body)
    const run = await withTurnImages(dependencies, imageCallerOf(c), { turn, field: 'image_url.url' }, (ready) =>
      acceptTurn(dependencies, ready),
    )
    const delivered = (): Promise<void> => noteDelivered(dependencies, run.key, run.attempt)
    const { suffix } = await requestNumber(dependencies, run)
    const base = { id: `chatcmpl-${run.runId}${suffix}`, model: body.model, created: seconds(dependencies) }
    const show: Shown = { ...base, run, turn }
    const response =
      body.stream === true
        ? await streamFrames(
            dependencies,
            c,
            call,
            (signal) =>
              chunkFrames(dependencies, show, body.stream_options?.include_usage === true, {
                signal,
                revoked: call.signal,
              }),
            (error) => data({ error: openAiErrorOf(describeError(error)) }),
          )
        : whenSent(
            jsonResponse(
              dependencies.shared.of(c.get('caller').tenant),
              await wholeCompletion(dependencies, c, show, call.signal),
            ),
            c.get('request').signal,
            delivered,
          )
    response.headers.set('x-session-id', run.key.session)
    response.headers.set('x-run-id', run.runId)
    return response
  })

const seconds = ({ clock }: RouteDependencies): number => Math.floor(clock.now() / 1000)

async function readTurn(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  body: ChatCompletionRequest,
): Promise<ChatTurn> {
  const session = c.req.header('x-session-id') ?? body.metadata?.['session_id']
  if (session !== undefined && !SESSION_PATTERN.test(session)) throw refused('metadata.session_id', BAD_SESSION_ID)
  const agent = modelOf(dependencies, body.model)
  const input = readChatRequest(body)
  await refuseWrongTools(dependencies, agent.name, input, 'function.name')
  const identity = {
    caller: c.get('caller'),
    agent: agent.name,
    user: body.user ?? undefined,
    input,
    ...definedFields({ place: session }),
  }
  return {
    ...identity,
    session,
    toolField: 'function.name',
    isNamed: session !== undefined,
    bodyHash: sha256(await c.req.text()),
    turnHash: turnHash(identity),
    idempotencyKey: c.req.header('idempotency-key'),
    isRetry: saysRetry(c.req.header('x-stainless-retry-count')),
  }
}

/** The fields that each chunk repeats. */
interface Shown {
  readonly id: string
  readonly model: string
  readonly created: number
  readonly run: AcceptedTurn
  readonly turn: ChatTurn
}

/** The signals that end a response before its run has ended. */
interface Ends {
  readonly signal: AbortSignal
  /** Aborts when the caller's key is revoked; one of the causes of `signal`. */
  readonly revoked: AbortSignal
}

const data = (value: unknown): string => `data: ${jsonText(value)}\n\n`

async function* chunkFrames(
  dependencies: RouteDependencies,
  { run, turn, ...base }: Shown,
  withUsage: boolean,
  ends: Ends,
): AsyncGenerator<string, void, undefined> {
  const chunk = (delta: object, reason: string | null = null): string =>
    data({
      ...base,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: reason, logprobs: null }],
      ...(withUsage ? { usage: null } : {}),
    })
  const first = chunk({ role: 'assistant', content: '' })
  let text: string | undefined
  for await (const one of chatChunks(dependencies, { run, turn }, ends)) {
    if (typeof one === 'string') {
      if (text === undefined) yield first
      text = (text ?? '') + one
      yield chunk({ content: one })
    } else {
      const { calls, reason, usage } = await completed(dependencies, run, one)
      await rememberShown(dependencies, turn, run, [[assistantMessage(text ?? '', calls)]])
      if (text === undefined) yield first
      for (const [index, call] of calls.entries()) yield chunk({ tool_calls: [{ index, ...call }] })
      yield chunk({}, reason)
      if (withUsage) yield data({ ...base, object: 'chat.completion.chunk', choices: [], usage: usage ?? null })
      yield 'data: [DONE]\n\n'
      await noteDelivered(dependencies, run.key, run.attempt)
    }
  }
}

async function wholeCompletion(
  dependencies: RouteDependencies,
  c: Context<AppEnv>,
  { run, turn, ...base }: Shown,
  revoked: AbortSignal,
): Promise<ChatCompletion> {
  const late = AbortSignal.timeout(MAX_RUN_WAIT_MS)
  const stopping = dependencies.stopping()
  const signal = AbortSignal.any([late, revoked, stopping, c.get('request').signal])
  let text = ''
  let end: ChatEnd | undefined
  try {
    for await (const one of chatChunks(dependencies, { run, turn }, { signal, revoked }))
      if (typeof one === 'string') text += one
      else end = one
  } catch (error) {
    if (late.aborted && error instanceof BrokenOff)
      throw new RequestError(
        504,
        'run_not_ended',
        `run ${run.runId} has not ended within ${MAX_RUN_WAIT_MS / 1_000} s: use stream, or read it in its session`,
      )
    throw error
  }
  if (end === undefined) throw new BrokenOff(run.runId)
  const { calls, reason, usage } = await completed(dependencies, run, end)
  await rememberShown(dependencies, turn, run, [[assistantMessage(text, calls)]])
  const content = text === '' && calls.length > 0 ? null : text
  const message = { role: 'assistant' as const, content, refusal: null }
  const withCalls = calls.length === 0 ? message : { ...message, tool_calls: [...calls] }
  return {
    ...base,
    object: 'chat.completion',
    choices: [{ index: 0, message: withCalls, finish_reason: reason, logprobs: null }],
    ...definedFields({ usage }),
  }
}

/** The assistant message that the client will send back for this completion. */
const assistantMessage = (content: string, calls: readonly ChatCall[]): ChatMessage => ({
  role: 'assistant',
  content,
  tool_calls: [...calls],
})

/** Yields the texts of a run, and then its end. */
async function* chatChunks(
  dependencies: RouteDependencies,
  { run, turn }: Pick<Shown, 'run' | 'turn'>,
  { signal, revoked }: Ends,
): AsyncGenerator<string | ChatEnd, void, undefined> {
  const { input, agent } = turn
  const policy = dependencies.agents.get(agent)?.policies.responseFormat
  const typed = createTypedTexts(jsonFormat(input.settings?.responseFormat ?? policy) !== undefined)
  const pieces = createChatChunks()
  const steps = followSteps(dependencies, run, signal)
  for (;;) {
    const next = await steps.next()
    if (next.done !== true) {
      const text = typed(next.value).map(pieces.take).join('')
      if (text !== '') yield text
      continue
    }
    if (next.value === undefined) throw revoked.aborted ? keyRevoked() : new BrokenOff(run.runId)
    const { text, end } = pieces.end(next.value)
    if (text !== '') yield text
    yield end
    return
  }
}

/** The error of a response that ends before its run: the client disconnected, or this process is about to stop. */
export class BrokenOff extends RequestError {
  constructor(run: string) {
    super(503, 'stopping', `this server is about to stop; run ${run} goes on: send the request again`)
  }
}

/**
 * Returns the end of a run that did not fail. If the run failed, throws its error. An error is a complete response too,
 * so the attempt counts as delivered.
 */
async function completed(
  dependencies: RouteDependencies,
  run: AcceptedTurn,
  end: ChatEnd,
): Promise<Exclude<ChatEnd, { failure: unknown }>> {
  if (!('failure' in end)) return end
  await noteDelivered(dependencies, run.key, run.attempt)
  const { status, code, message } = end.failure
  throw new RequestError(status, code, message)
}
