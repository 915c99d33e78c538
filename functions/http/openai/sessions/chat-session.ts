import { sha256 } from '../../../domain/hash.ts'
import type { Accepted, CallResolution, ContinuingRequest, Submission } from '../../../agent/service/agent-service.ts'
import { countedFor } from '../../../access/rates.ts'
import { ImportRefused } from '../../../domain/messages/closed-message.ts'
import type { ClosedMessage } from '../../../domain/messages/closed-message.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { nextId } from '../../../domain/ids.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import { keyOf } from '../../../domain/session.ts'
import type { Session, SessionKey } from '../../../domain/session.ts'
import { createOpenAiImport } from '../../../log/import/openai.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { RequestError } from '../../middleware/request-error.ts'
import { invalidRequest } from '../../middleware/validation.ts'
import type { FollowedRun } from '../../run-steps/follow-steps.ts'
import { refuseWrongTools } from '../../v1/messages/incoming-content.ts'
import { refuseUnknownChoice } from '../../v1/messages/tool-choice.ts'
import { findRun } from '../../v1/runs/resource.ts'
import { existing, isCode, openSession } from '../../run-steps/open-session.ts'
import { seenBefore } from '../../run-steps/pause-lookup.ts'
import { answeredBefore, noteAnswered } from './repeated-answer.ts'
import { refused } from '../chat/chat-request.ts'
import type { ChatInput } from '../chat/chat-request.ts'
import { scopeOf } from './chat-turn.ts'
import type { Attempt, ChatTurn, ReadyTurn } from './chat-turn.ts'
import { noteAttempt } from './repeated-request.ts'

/** The run to follow. `answered`: the run whose calls this turn answers, and the rows of these calls. */
export interface AcceptedTurn extends FollowedRun {
  readonly answered?: { readonly runId: string; readonly calls: readonly string[] }
  /** Undefined for a turn that needs no stored attempt: a turn with an idempotency key, or a turn with results only. */
  readonly attempt?: Attempt
}

/** Rows in one page. */
const PAGE = 200
const SOURCE = 'chat-completions'

/** Adds a turn's new content to its session, and returns the run to follow. */
export async function acceptChatTurn(dependencies: RouteDependencies, turn: ReadyTurn): Promise<AcceptedTurn> {
  const { caller, agent, user, input } = turn
  const id = turn.session ?? keyedSession(turn) ?? nextId(undefined, dependencies.clock.now())
  const known = await existing(dependencies, caller, id)
  const answered = known && (await answersOf(dependencies, known, turn))
  if (answered === undefined) refuseUnknownCalls(input)
  // An existing session has its own log, so the client's history is not checked.
  const history = known === undefined ? closedHistory(input) : undefined
  const limits = countedFor(caller, dependencies.settings.caps)
  if (known === undefined) await dependencies.service.assertCapacity(caller.tenant, limits)
  // A repeated request must not undo the instructions of a newer one.
  const instructions = answered?.isRepeated === true ? undefined : input.instructions
  const wanted = { id, agent, owner: user, instructions }
  const session = await openSession(dependencies, caller, wanted)
  const key = keyOf(session)
  if (answered === undefined) {
    const { keyHash, attempt } = await keyHashOf(dependencies, turn, key)
    await importHistory(dependencies, session, history, input)
    const { runId } = await submit(dependencies, session, turn, { keyHash, ...definedFields({ onBusy: turn.onBusy }) })
    return { key, runId, ...definedFields({ attempt }) }
  }
  if (input.said.length > 0) await noteAnswered(dependencies, turn, key, answered.runId)
  const noted = input.said.length > 0 ? await keyHashOf(dependencies, turn, key) : undefined
  await dependencies.service.resolve(session, answered.runId, answered.resolutions, { here: true }, newestOf(turn))
  const { runId: resumed, after, open, calls } = answered
  const followed = { key, after, open, answered: { runId: resumed, calls } }
  if (noted === undefined) return { ...followed, runId: resumed }
  const { runId } = await submit(dependencies, session, turn, { keyHash: noted.keyHash, onBusy: 'steer' })
  return { ...followed, runId, ...definedFields({ attempt: noted.attempt }) }
}

/** The tools, instructions and settings of this request, which apply to the rounds after the request's results. */
const newestOf = ({ input, instructions }: ChatTurn): ContinuingRequest => ({
  clientTools: input.tools,
  settings: input.settings,
  instructions: instructions ?? input.instructions ?? instructions,
})

/** The session id of a request that has an idempotency key and names no session. A repeated request gets the same id. */
const keyedSession = (turn: ChatTurn): string | undefined =>
  turn.idempotencyKey === undefined
    ? undefined
    : `chat-${sha256(`${scopeOf(turn)} key ${turn.idempotencyKey}`).slice(0, 40)}`

/**
 * Converts the client's history to closed messages. If no run waits for a result, the result and its call become part
 * of the history.
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
    // The session already has a different, complete history.
    if (!isCode(error, 'idempotency_conflict')) throw error
  }
}

interface Answers {
  readonly runId: string
  readonly resolutions: readonly CallResolution[]
  /** The ids of the calls' rows. */
  readonly calls: readonly string[]
  /** Whether all of these calls are answered already. */
  readonly isRepeated: boolean
  /** The last message that the client has seen. */
  readonly after: string
  /** Calls that precede the message `after`, but whose end the client has not seen. */
  readonly open: readonly ToolMessage[]
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
  const mayBeRepeated = turn.isRetry || turn.idempotencyKey !== undefined
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
  // The run keeps its agent, whichever agent this request names.
  if (run !== undefined && run.agent !== turn.agent)
    await refuseWrongTools(dependencies, run.agent, input, turn.toolField)
  if (run !== undefined && input.tools === undefined)
    refuseUnknownChoice(dependencies.agents.get(run.agent), run.clientTools, input.settings?.toolChoice, turn.toolField)
  const seen = run && (await seenBefore(reader, session, run, new Set(calls)))
  const { after = calls.at(-1) ?? '', open = [...rows.values()] } = seen ?? {}
  const unseen = open.filter(({ needs }) => needs !== 'result')
  const isRepeated = [...rows.values()].every(({ status }) => status !== 'waiting')
  return { runId, resolutions: [...given, ...decided], calls, isRepeated, after, open: unseen }
}

/**
 * Finds calls by their names or the ids of their rows. Considers only calls that wait or have waited for a client or an
 * approval. For each name, finds the newest call.
 */
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

/** Submits a turn under its idempotency key, or under the key of its attempt. */
async function submit(
  { service, settings }: RouteDependencies,
  session: Session,
  turn: ReadyTurn,
  { keyHash, ...more }: Pick<Submission, 'onBusy'> & { readonly keyHash: string },
): Promise<Accepted> {
  const { caller, user, bodyHash, turnHash, input } = turn
  const submission = {
    parts: input.said.flatMap(({ parts }) => parts),
    clientTools: input.tools ?? [],
    // Stored with the run, because another request may change the session's instructions before the run starts.
    ...definedFields({ user, metadata: input.metadata, settings: input.settings }),
    ...definedFields({ instructions: turn.instructions ?? input.instructions }),
    ...countedFor(caller, settings.caps),
    ...more,
  }
  const put = (hash: string): Promise<Accepted> =>
    service.submit(session, { ...submission, idempotency: { keyHash, bodyHash: hash } }, { here: true })
  try {
    return await put(turnHash)
  } catch (error) {
    if (!isCode(error, 'idempotency_conflict')) throw error
    // A run that an earlier version started was stored with the hash of the whole body.
    return put(bodyHash)
  }
}

/** The key under which a turn is submitted. */
async function keyHashOf(
  dependencies: RouteDependencies,
  turn: ChatTurn,
  key: SessionKey,
): Promise<{ readonly keyHash: string; readonly attempt?: Attempt }> {
  const attempt = await noteAttempt(dependencies, turn, key)
  if (attempt !== undefined) return { keyHash: attempt.keyHash, attempt }
  return { keyHash: sha256(turn.idempotencyKey ?? '') }
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
