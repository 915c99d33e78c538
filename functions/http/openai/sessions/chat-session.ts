import { sha256 } from '../../../domain/hash.ts'
import type { Accepted, CallResolution, Submission } from '../../../agent/service/agent-service.ts'
import { countedFor } from '../../../access/rates.ts'
import { ImportRefused } from '../../../domain/messages/closed-message.ts'
import type { ClosedMessage } from '../../../domain/messages/closed-message.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { nextId } from '../../../domain/ids.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import { isEnded } from '../../../domain/runs/run.ts'
import { keyOf } from '../../../domain/session.ts'
import type { Session } from '../../../domain/session.ts'
import { createOpenAiImport } from '../../../log/import/openai.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { RequestError } from '../../middleware/request-error.ts'
import { invalidRequest } from '../../middleware/validation.ts'
import type { FollowedRun } from '../../run-steps/follow-steps.ts'
import { findRun } from '../../v1/runs/resource.ts'
import { existing, isCode, openSession } from '../../run-steps/open-session.ts'
import { seenBefore } from '../../run-steps/pause-lookup.ts'
import { answeredBefore, isReported, noteAnswered } from './repeated-answer.ts'
import { refused } from '../chat/chat-request.ts'
import type { ChatInput } from '../chat/chat-request.ts'
import { REPEAT_MS, scopeOf } from './chat-turn.ts'
import type { ChatTurn } from './chat-turn.ts'
import { putOnce } from './repeated-request.ts'

/** The run to follow. `answered`: the rows of the calls that this turn answers, and the run that made them. */
export interface AcceptedTurn extends FollowedRun {
  readonly answered?: { readonly runId: string; readonly calls: readonly string[] }
}

/** Rows in one page. */
const PAGE = 200
const SOURCE = 'chat-completions'

/** Adds a turn's new content to its session, and returns the run to follow. */
export async function acceptChatTurn(dependencies: RouteDependencies, turn: ChatTurn): Promise<AcceptedTurn> {
  const { caller, agent, user, input } = turn
  const id = turn.session ?? (await joinedSession(dependencies, turn)) ?? nextId(undefined, dependencies.clock.now())
  const known = await existing(dependencies, caller, id)
  const answered = known && (await answersOf(dependencies, known, turn))
  if (answered === undefined) refuseUnknownCalls(input)
  // An existing session has its own log, so the client's history is not checked.
  const history = known === undefined ? closedHistory(input) : undefined
  const limits = countedFor(caller, dependencies.settings.caps)
  if (known === undefined) await dependencies.service.assertCapacity(caller.tenant, limits)
  const wanted = { id, agent, owner: user, instructions: input.instructions }
  const session = await openSession(dependencies, caller, wanted)
  const key = keyOf(session)
  if (answered === undefined) {
    await importHistory(dependencies, session, history, input)
    const { runId } = await submit(dependencies, session, turn, definedFields({ onBusy: turn.onBusy }))
    return { key, runId }
  }
  if (input.said.length > 0) await noteAnswered(dependencies, turn, key, answered.runId)
  await dependencies.service.resolve(session, answered.runId, answered.resolutions, { here: true })
  const { runId: resumed, after, open, calls } = answered
  const followed = { key, after, open, answered: { runId: resumed, calls } }
  if (input.said.length === 0) return { ...followed, runId: resumed }
  const { runId } = await submit(dependencies, session, turn, { onBusy: 'steer', after: resumed })
  return { ...followed, runId }
}

/**
 * Finds or names the session of a request that names none. The name is derived from the content, so a retry after a
 * broken connection finds the session while its run is active. Undefined: the request needs a new session.
 */
async function joinedSession(dependencies: RouteDependencies, turn: ChatTurn): Promise<string | undefined> {
  const { caller, bodyHash, idempotencyKey, isFirstTry } = turn
  if (turn.session !== undefined) return undefined
  const scope = scopeOf(turn)
  if (idempotencyKey !== undefined) return `chat-${sha256(`${scope} key ${idempotencyKey}`).slice(0, 40)}`
  const now = dependencies.clock.now()
  const minute = Math.floor(now / REPEAT_MS)
  const nameOf = (at: number): string => `chat-${sha256(`${scope} ${at} ${bodyHash}`).slice(0, 40)}`
  const own = await existing(dependencies, caller, nameOf(minute))
  if (own === undefined && isFirstTry) return nameOf(minute)
  if (isFirstTry) return undefined
  const before = await existing(dependencies, caller, nameOf(minute - 1))
  const found = [own, before].find(
    (session) =>
      session !== undefined &&
      now - session.createdAt <= REPEAT_MS &&
      (session.run === undefined || !isEnded(asStatus(session))),
  )
  if (found !== undefined) return found.session
  return own === undefined ? nameOf(minute) : undefined
}

const asStatus = ({ run }: Session) => run?.status ?? 'queued'

/**
 * Converts the client's history to closed messages. Results that no run waits for belong to the history, like their
 * calls.
 */
export function closedHistory({ history, results }: Pick<ChatInput, 'history' | 'results'>): ClosedMessage[] {
  if (history.length === 0) return []
  const format = createOpenAiImport()
  try {
    return [
      ...history.flatMap(({ message, at }) => [...format.take(message, `body.${at}`)]),
      ...results.flatMap(({ message, at }) => [...format.take(message, `body.${at}`)]),
      ...format.end(),
    ]
  } catch (error) {
    if (error instanceof ImportRefused) throw invalidRequest(error.errors)
    throw error
  }
}

/** Imports the client's history if the session has nothing else. Continues where an earlier attempt stopped. */
async function importHistory(
  { service, reader }: RouteDependencies,
  session: Session,
  closed: readonly ClosedMessage[] | undefined,
  input: ChatInput,
): Promise<void> {
  const { history, results } = input
  if (history.length === 0) return
  const { runs } = await reader.runs(session, { limit: 1 })
  const [newest] = runs
  if (newest !== undefined && (newest.stopReason !== 'imported' || newest.source !== SOURCE)) return
  const bodyHash = sha256(JSON.stringify([...history, ...results].map(({ message }) => message)))
  const name = { keyHash: sha256(`${SOURCE} history`), bodyHash, forGood: true }
  try {
    await service.importMessages(session, closed ?? closedHistory(input), { name, source: SOURCE })
  } catch (error) {
    // The session already has another, complete history.
    if (!isCode(error, 'idempotency_conflict')) throw error
  }
}

interface Answers {
  readonly runId: string
  readonly resolutions: readonly CallResolution[]
  /** The ids of the calls' rows. */
  readonly calls: readonly string[]
  /** The last message that the client has seen. */
  readonly after: string
  /** Calls before that message whose end the client has not seen. */
  readonly open: ReadonlySet<string>
}

/**
 * Finds the resolutions for calls of the run that the turn answers. Undefined if there are none, or if they belong to
 * the history.
 */
async function answersOf(
  dependencies: RouteDependencies,
  session: Session,
  turn: ChatTurn,
): Promise<Answers | undefined> {
  const { reader } = dependencies
  const { input, nameOf } = turn
  const decisions = turn.decisions ?? new Map<string, boolean>()
  const { results, said } = input
  const mayBeRepeated = !turn.isFirstTry || turn.idempotencyKey !== undefined || isReported(turn)
  const before = mayBeRepeated ? await answeredBefore(dependencies, turn, session) : undefined
  const runId = turn.answersTo ?? before ?? session.run?.id
  if ((results.length === 0 && decisions.size === 0) || runId === undefined) return undefined
  const wanted = new Set([...results.map(({ result }) => result.toolCallId), ...decisions.keys()])
  const rows = await callsOf(reader, session, runId, wanted, nameOf ?? (({ toolCallId }) => toolCallId))
  const missing = results.find(({ result }) => !rows.has(result.toolCallId))
  if (rows.size === 0 && (said.length > 0 || nameOf !== undefined)) return undefined
  if (missing !== undefined && nameOf === undefined)
    throw refused(missing.field, 'is not a call of the newest run of this session')
  const given = results.flatMap(({ result }): CallResolution[] => {
    const row = rows.get(result.toolCallId)
    return row === undefined ? [] : [{ ...result, toolCallId: row.toolCallId, messageId: row.id }]
  })
  const decided = [...decisions].flatMap(([id, approve]): CallResolution[] => {
    const row = rows.get(id)
    return row === undefined ? [] : [{ toolCallId: row.toolCallId, messageId: row.id, approve }]
  })
  const calls = [...rows.values()].map(({ id }) => id).toSorted()
  const run = await findRun(reader, session, runId)
  const seen = run && (await seenBefore(reader, session, run, new Set(calls)))
  const { after = calls.at(-1) ?? '', open = [...rows.values()] } = seen ?? {}
  const unseen = open.filter(({ needs }) => needs !== 'result').map(({ id }) => id)
  return { runId, resolutions: [...given, ...decided], calls, after, open: new Set(unseen) }
}

/** Finds the newest calls with these names or rows that wait for a client or an approval, or have waited. */
async function callsOf(
  reader: RouteDependencies['reader'],
  session: Session,
  run: string,
  wanted: ReadonlySet<string>,
  nameOf: (call: ToolMessage) => string,
): Promise<Map<string, ToolMessage>> {
  const found = new Map<string, ToolMessage>()
  for (let before: string | undefined; ;) {
    const query = { order: 'descending', limit: PAGE, run, roles: ['tool'], ...definedFields({ before }) } as const
    const { messages, more } = await reader.messages(keyOf(session), query)
    for (const one of messages) {
      if (one.role !== 'tool' || one.needs === undefined) continue
      const name = one.needs === 'approval' || wanted.has(one.id) ? one.id : nameOf(one)
      if (wanted.has(name) && !found.has(name)) found.set(name, one)
    }
    before = messages.at(-1)?.id
    if (found.size === wanted.size || !more || before === undefined) return found
  }
}

async function submit(
  dependencies: RouteDependencies,
  session: Session,
  turn: ChatTurn,
  { after, ...more }: Pick<Submission, 'onBusy'> & { readonly after?: string },
): Promise<Accepted> {
  const { service, reader, clock, settings } = dependencies
  const { caller, user, bodyHash, idempotencyKey, input } = turn
  const keyHash = (before: string): string =>
    sha256(idempotencyKey === undefined ? `${SOURCE} ${before} ${bodyHash}` : idempotencyKey)
  const submission = {
    parts: input.said.flatMap(({ parts }) => parts),
    clientTools: input.tools,
    // Stored with the run, because another request may change the session's instructions before the run starts.
    ...definedFields({ user, metadata: input.metadata, instructions: turn.instructions ?? input.instructions }),
    ...countedFor(caller, settings.caps),
  }
  const put = (before: string | undefined, onBusy: Pick<Submission, 'onBusy'>): Promise<Accepted> => {
    const idempotency = { keyHash: keyHash(before ?? ''), bodyHash }
    return service.submit(session, { ...submission, ...onBusy, idempotency }, { here: true })
  }
  if (after !== undefined) return put(after, more)
  const { runs } = await reader.runs(session, { limit: 2 })
  const [newest, previous] = runs
  if (turn.isNamed && idempotencyKey === undefined)
    return putOnce(dependencies, turn, { key: keyOf(session), newest }, (before) => put(before, more))
  const isActive = newest !== undefined && !isEnded(newest.status)
  if (isActive && !turn.isFirstTry && clock.now() - newest.createdAt <= REPEAT_MS) {
    try {
      return await put(previous?.id, { onBusy: 'reject' })
    } catch (error) {
      if (!isCode(error, 'session_busy')) throw error
    }
  }
  return put(newest?.id, more)
}

/** Rejects results for unknown calls if the request has no other content. */
function refuseUnknownCalls({ history, results, said }: ChatInput): void {
  const [first] = results
  if (first !== undefined && history.length === 0) throw refused(first.at, 'is a result without a call before it')
  if (said.length > 0) return
  const path = `body.${first?.field ?? 'resume'}`
  const what = first === undefined ? 'names no waiting call of this session' : 'names an unknown call: name its session'
  const message = `${what}, or add a user message`
  throw new RequestError(409, 'unknown_tool_calls', `${path} ${message}`, { errors: [{ path, message }] })
}
