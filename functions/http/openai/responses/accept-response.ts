import { findSession } from '../../../access/sessions.ts'
import type { Caller } from '../../../access/caller.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { JsonObject } from '../../../domain/json.ts'
import { isEnded } from '../../../domain/runs/run.ts'
import type { Run } from '../../../domain/runs/run.ts'
import { keyOf } from '../../../domain/session.ts'
import type { Session } from '../../../domain/session.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { RequestError } from '../../middleware/request-error.ts'
import { copyInto } from '../../v1/sessions/fork-request.ts'
import { waitingCalls } from '../../v1/runs/resource.ts'
import { clientCallId } from '../../run-steps/call-id.ts'
import { existing, isCode } from '../../run-steps/open-session.ts'
import { refused } from '../chat/chat-request.ts'
import { acceptChatTurn } from '../sessions/chat-session.ts'
import type { AcceptedTurn } from '../sessions/chat-session.ts'
import type { ChatTurn, ReadyTurn } from '../sessions/chat-turn.ts'
import { answeredBefore } from '../sessions/repeated-answer.ts'
import { earlierAttempt } from '../sessions/repeated-request.ts'
import { acceptTurn } from '../sessions/session-by-history.ts'
import { acceptAfter, elsewhere, keepClaim } from '../sessions/turn-placement.ts'
import { asksOf, requestNumber, requireRun } from './response-run.ts'
import type { Ask } from './response-run.ts'
import type { AboutResponse, ShownResponse } from './response-resource.ts'
import { nameOfDeletion, nameOfResponse } from './response-name.ts'
import { RESPONSE_ID } from './response-schemas.ts'

export interface NewResponse<Turn = ChatTurn> {
  readonly turn: Turn
  readonly about: Omit<AboutResponse, 'asked' | 'of'>
  readonly conversation: string | undefined
  readonly isStored: boolean
  readonly withCalls: boolean
}

/**
 * Starts a Response, or finds the one that an earlier attempt started. From then on, the Response can be found by its
 * id.
 */
export async function acceptResponse(
  dependencies: RouteDependencies,
  wanted: NewResponse<ReadyTurn>,
): Promise<ShownResponse> {
  const { names } = dependencies
  const { about, isStored, withCalls } = wanted
  const accepted = await acceptWanted(dependencies, wanted)
  const { key, runId, answered, attempt } = accepted
  const { asked, suffix } = await requestNumber(dependencies, accepted)
  const id = `resp_${runId}${suffix}`
  const whole = { ...about, asked, ...definedFields({ of: answered?.runId }) }
  if (isStored) await names.give(key, nameOfResponse(id), { ...whole, withCalls } as JsonObject)
  const response = { id, key, runId, asked, withCalls, about: whole, isStored }
  return { ...response, ...definedFields({ of: answered?.runId, attempt }) }
}

/** Finds the Response with this id. Unknown ids, and those that the caller may not see, get the same 404. */
export async function findResponse(
  dependencies: RouteDependencies,
  caller: Caller,
  id: string,
): Promise<ShownResponse> {
  const found = await foundResponse(dependencies, caller, id)
  if (found === undefined) throw new RequestError(404, 'response_not_found', `there is no response ${id.slice(0, 128)}`)
  return found.shown
}

/** The data stored under the name of a Response. */
interface NamedResponse extends AboutResponse {
  readonly withCalls: boolean
}

interface FoundResponse {
  readonly shown: ShownResponse
  readonly session: Session
}

/** Finds the Response that a request continues. */
export async function findPrevious(
  dependencies: RouteDependencies,
  caller: Caller,
  id: string,
): Promise<FoundResponse> {
  const found = await foundResponse(dependencies, caller, id)
  if (found !== undefined) return found
  const errors = [{ path: 'body.previous_response_id', message: 'is not the id of a response' }]
  throw new RequestError(404, 'previous_response_not_found', `there is no response ${id.slice(0, 128)}`, { errors })
}

async function foundResponse(
  dependencies: RouteDependencies,
  caller: Caller,
  id: string,
): Promise<FoundResponse | undefined> {
  const { names } = dependencies
  const [, runId] = RESPONSE_ID.exec(id) ?? []
  if (runId === undefined || (await names.find(caller.tenant, nameOfDeletion(id))) !== undefined) return undefined
  const named = await names.find(caller.tenant, nameOfResponse(id))
  const session = named && (await existing(dependencies, caller, named.session))
  if (named === undefined || session === undefined) return undefined
  const { withCalls, ...about } = named.about as unknown as NamedResponse
  const part = { key: keyOf(session), runId, asked: about.asked, withCalls, ...definedFields({ of: about.of }) }
  return { shown: { id, ...part, about, isStored: true }, session }
}

async function acceptWanted(
  dependencies: RouteDependencies,
  { turn, about: { previous }, conversation }: NewResponse<ReadyTurn>,
): Promise<AcceptedTurn> {
  const { caller } = turn
  const attempt = await earlierAttempt(dependencies, turn)
  if (attempt !== undefined) return acceptChatTurn(dependencies, { ...turn, session: attempt.session, attempt })
  if (previous !== undefined) return acceptAfterResponse(dependencies, turn, previous)
  if (conversation !== undefined) {
    const session = await findConversation(dependencies, caller, conversation, 'body')
    await refuseMissingOutputs(dependencies, session, turn)
    return acceptChatTurn(dependencies, { ...turn, session: session.session })
  }
  return acceptTurn(dependencies, turn)
}

/** Returns the session of this conversation. `place`: the field of the request that names the conversation. */
export async function findConversation(
  dependencies: RouteDependencies,
  caller: Caller,
  id: string,
  place: 'body' | 'path' = 'path',
): Promise<Session> {
  return orConversationNotFound(id, () => findSession(dependencies, caller, id), place)
}

/**
 * Calls `work`. If `work` rejects because the session is unknown, rejects with the error of `findConversation` for an
 * unknown conversation.
 */
export async function orConversationNotFound<Result>(
  id: string,
  work: () => Promise<Result>,
  place: 'body' | 'path' = 'path',
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!isCode(error, 'session_not_found')) throw error
    const errors = [{ path: `${place}.conversation`, message: 'is not the id of a conversation' }]
    throw new RequestError(404, 'conversation_not_found', `there is no conversation ${id}`, { errors })
  }
}

/**
 * Continues after a Response. The newest Response of a session is continued in that session. Any other Response is
 * continued in a copy that ends with it.
 */
async function acceptAfterResponse(
  dependencies: RouteDependencies,
  turn: ReadyTurn,
  previous: string,
): Promise<AcceptedTurn> {
  const { reader } = dependencies
  const { caller, input } = turn
  const { session, shown } = await findPrevious(dependencies, caller, previous)
  const run = await requireRun(reader, session, shown.runId)
  const asks = await asksOf(reader, session, run)
  const ask = asks[shown.of === undefined || shown.of === run.id ? shown.asked : 0]
  const isLatest = session.run?.id === run.id && (await endsWith(dependencies, session, run))
  const isRepeated = (await answeredBefore(dependencies, turn, session)) === run.id
  const isAnswer = isRepeated || (isLatest && ask !== undefined && input.results.length > 0 && input.said.length === 0)
  const [output] = input.results
  if (output !== undefined && !isLatest && !isRepeated)
    throw refused(output.field, 'is not a call of the newest run of its session')
  if (!isRepeated) await refuseMissingOutputs(dependencies, session, turn)
  const known = {
    session,
    isNewest: isLatest && (ask === undefined || !ask.isOver),
    isActive: run.status === 'queued' || run.status === 'running',
    isAnswer,
  }
  const here = await acceptAfter(dependencies, { ...turn, answersTo: run.id }, known)
  if (here !== undefined) return here
  const copy = await forkAfter(dependencies, turn, session, await lastOf(dependencies, session, run, ask))
  await keepClaim(dependencies, turn, copy)
  return acceptChatTurn(dependencies, { ...turn, session: copy.session })
}

/** Whether the log ends with this run. Another writer may have appended messages that belong to no run. */
async function endsWith({ reader }: RouteDependencies, session: Session, run: Run): Promise<boolean> {
  const { messages } = await reader.messages(session, { order: 'descending', limit: 1 })
  return messages[0] === undefined || messages[0].runId === run.id || run.startedAt === undefined
}

/** The id of a Response's last message. */
async function lastOf(
  { reader }: RouteDependencies,
  session: Session,
  run: Run,
  ask: Ask | undefined,
): Promise<string> {
  if (ask !== undefined) return ask.after
  const { messages } = await reader.messages(session, { order: 'descending', limit: 1, run: run.id })
  const [last] = messages
  if (last !== undefined && isEnded(run.status)) return last.id
  const detail = `run ${run.id} has not ended, and session ${session.session} has newer runs: retry after it has ended`
  throw new RequestError(409, 'response_not_ended', detail)
}

async function forkAfter(
  dependencies: RouteDependencies,
  turn: ChatTurn,
  from: Session,
  through: string,
): Promise<Session> {
  const { caller } = turn
  const id = elsewhere(dependencies, turn)
  try {
    return await copyInto(dependencies, caller, from, { through, id, title: undefined })
  } catch (error) {
    // If the id is taken, an earlier attempt of this request may have created the copy.
    const made = isCode(error, 'session_exists') ? await existing(dependencies, caller, id) : undefined
    if (made?.forkedFrom?.messageId !== through) throw error
    return made
  }
}

/** Rejects missing outputs, as OpenAI's API does: all calls that wait for the client must be answered together. */
async function refuseMissingOutputs({ reader }: RouteDependencies, session: Session, turn: ChatTurn): Promise<void> {
  const { results, said } = turn.input
  if (results.length === 0 || session.run?.status !== 'paused') return
  const run = await requireRun(reader, session, session.run.id)
  const given = new Set(results.map(({ result }) => result.toolCallId))
  const waiting = (await waitingCalls(reader, keyOf(session), run)).filter(({ message }) => message.needs === 'result')
  const missing = waiting.filter(({ message }) => !given.has(clientCallId(message)))
  if (missing[0] === undefined || (missing.length === waiting.length && said.length > 0)) return
  throw refused('input', `has no output for the call ${clientCallId(missing[0].message)}`)
}
