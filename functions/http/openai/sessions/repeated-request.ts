import { sha256 } from '../../../domain/hash.ts'
import { isEnded } from '../../../domain/runs/run.ts'
import type { Run } from '../../../domain/runs/run.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { Accepted } from '../../../agent/service/agent-service.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { findRun } from '../../v1/runs/resource.ts'
import type { ChatMessage } from '../chat/chat-schemas.ts'
import { KEYS_MS, REPEAT_MS, scopeOf } from './chat-turn.ts'
import type { ChatTurn } from './chat-turn.ts'
import { seenOf } from './message-fingerprint.ts'

/** How long an undelivered answer is kept for a repeated request, in milliseconds. OpenAI's SDKs wait as long. */
const UNSEEN_MS = 600_000

/** The record of a request body in a session. */
interface Noted {
  /** The session's newest run before the request. */
  readonly before: string
  /**
   * Hashes of the last message that the client received, one for each form in which it may send it back. Undefined: the
   * client did not receive the end.
   */
  readonly shown?: readonly string[]
}

interface Where {
  readonly key: SessionKey
  readonly newest: Run | undefined
}

/**
 * Adds a turn to a session that its client names, or returns the run that the same body started before. A retry and a
 * deliberate repetition look the same; `isSame` decides (decision record 31). `put` submits the turn after the run
 * `before`; repeated calls have no further effect. `newest` was read before this call.
 */
export async function putOnce(
  dependencies: RouteDependencies,
  turn: ChatTurn,
  where: Where,
  put: (before: string) => Promise<Accepted>,
): Promise<Accepted> {
  const { names, clock } = dependencies
  const { key, newest } = where
  const noted = await notedOf(dependencies, turn, key)
  if (noted !== undefined) {
    const earlier = await put(noted.before)
    if (!earlier.repeated || (await isSame(dependencies, turn, where, { ...noted, runId: earlier.runId })))
      return earlier
  }
  const before = newest?.id ?? ''
  await names.give(key, nameOf(turn, key), { before }, clock.now() + KEYS_MS)
  return put(before)
}

/** Records, before sending it, that the client of a named session receives the end of its run. */
export async function noteShown(
  dependencies: RouteDependencies,
  turn: ChatTurn,
  { key, runId }: { readonly key: SessionKey; readonly runId: string },
  shown: readonly (readonly ChatMessage[])[],
): Promise<void> {
  const { names, reader, clock, log } = dependencies
  if (turn.input.said.length === 0 || turn.idempotencyKey !== undefined) return
  try {
    const noted = await notedOf(dependencies, turn, key)
    const { runs } = await reader.runs(key, { before: runId, limit: 1 })
    // If the record differs, an equal request has started another run meanwhile.
    if (noted === undefined || noted.before !== (runs[0]?.id ?? '')) return
    const last = shown.flatMap((messages) => messages.slice(-1).map(hashOf))
    await names.give(key, nameOf(turn, key), { before: noted.before, shown: last }, clock.now() + KEYS_MS)
  } catch (error) {
    // The run has ended successfully. An equal request gets its answer for a while.
    log.warn('a turn will be taken for one that nobody was shown', { session: key.session, error: String(error) })
  }
}

const nameOf = (turn: ChatTurn, { session }: SessionKey): string =>
  `turn ${sha256(JSON.stringify([scopeOf(turn), session, turn.bodyHash]))}`

const hashOf = (message: ChatMessage): string => sha256(JSON.stringify(seenOf(message)))

async function notedOf({ names }: RouteDependencies, turn: ChatTurn, key: SessionKey): Promise<Noted | undefined> {
  const found = await names.find(key.tenant, nameOf(turn, key))
  return found?.session === key.session ? (found.about as unknown as Noted) : undefined
}

/** Whether this is a retry of the turn that started this run, not a deliberate repetition. */
async function isSame(
  { reader, clock }: RouteDependencies,
  { input: { history } }: ChatTurn,
  { key, newest }: Where,
  { runId, shown }: Noted & { readonly runId: string },
): Promise<boolean> {
  const accepted = await reader.run(key, runId)
  const run = await findRun(reader, key, runId)
  if (accepted === undefined || run === undefined) return false
  const lastSeen = history.at(-1)?.message
  /** Time since the run ended or, if it has not ended, since it was accepted. */
  const age = clock.now() - (run.endedAt ?? accepted.createdAt)
  if (!isEnded(run.status)) return lastSeen !== undefined || age <= (shown === undefined ? UNSEEN_MS : REPEAT_MS)
  if (run.status !== 'completed') return false
  if (lastSeen === undefined) return shown === undefined && newest?.id === runId && age <= UNSEEN_MS
  // A client that continues includes our answer. If that answer equals the previous one, this proves nothing.
  return shown?.includes(hashOf(lastSeen)) !== true || (await isWhole(reader, key, history, runId))
}

/** Whether the history is all that the session had before this run. Then it does not contain the run's own answer. */
async function isWhole(
  reader: RouteDependencies['reader'],
  key: SessionKey,
  history: ChatTurn['input']['history'],
  runId: string,
): Promise<boolean> {
  const roleAt = (place: number) => history[place]?.message.role
  const turns = history.filter((_, place) => roleAt(place) === 'user' && roleAt(place - 1) !== 'user').length + 1
  const { messages } = await reader.messages(key, { order: 'ascending', limit: turns, roles: ['user'] })
  return messages.length === turns && messages.at(-1)?.runId === runId
}
