import type { SessionKey } from '../../../domain/session.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { findRun } from '../../v1/runs/resource.ts'
import { existing } from '../../run-steps/open-session.ts'
import type { ChatMessage } from '../chat/chat-schemas.ts'
import { acceptChatTurn } from './chat-session.ts'
import type { AcceptedTurn } from './chat-session.ts'
import type { ChatTurn, ReadyTurn } from './chat-turn.ts'
import { acceptAfter, keepClaim } from './turn-placement.ts'
import type { KnownTurn } from './turn-placement.ts'
import { exactHistoryName, historyName } from './message-fingerprint.ts'
import { earlierAttempt } from './repeated-request.ts'

/**
 * How long a conversation can be found by its history, in milliseconds. After this time, the client's next request
 * starts a new session and imports the history.
 */
const HISTORY_MS = 30 * 86_400_000

/**
 * Like `acceptChatTurn`, but also serves a client that names no session. Such a client continues in the session whose
 * newest turn produced the client's history. If other turns were added to that session since, the client gets a
 * separate session.
 */
export async function acceptTurn(dependencies: RouteDependencies, turn: ReadyTurn): Promise<AcceptedTurn> {
  const attempt = await earlierAttempt(dependencies, turn)
  if (attempt !== undefined) return acceptChatTurn(dependencies, { ...turn, session: attempt.session, attempt })
  const known = turn.session === undefined ? await knownByHistory(dependencies, turn) : undefined
  if (known === undefined) return acceptChatTurn(dependencies, turn)
  const here = await acceptAfter(dependencies, turn, known)
  if (here !== undefined) return here
  const elsewhere = await acceptChatTurn(dependencies, turn)
  await keepClaim(dependencies, turn, elsewhere.key)
  return elsewhere
}

async function knownByHistory(dependencies: RouteDependencies, turn: ChatTurn): Promise<KnownTurn | undefined> {
  const { names, reader } = dependencies
  const { caller, input } = turn
  if (input.history.length === 0) return undefined
  const history = input.history.map(({ message }) => message)
  const named =
    (await names.find(caller.tenant, historyName(turn, history))) ??
    (await names.find(caller.tenant, exactHistoryName(turn, history)))
  const session = named && (await existing(dependencies, caller, named.session))
  if (named === undefined || session === undefined) return undefined
  const { run, last } = named.about
  const { messages } = await reader.messages(session, { order: 'descending', limit: 1 })
  const isLatest = session.run?.id === run
  return {
    session,
    isNewest: isLatest && messages[0]?.id === last,
    isActive: false,
    isAnswer: isLatest && input.results.length > 0 && input.said.length === 0,
  }
}

/**
 * Remembers the conversation that a client has received. The session is then found by the history in the client's
 * next request. Does nothing if the client names the session. `shown`: the forms in which the client may send the
 * completion back.
 */
export async function rememberShown(
  dependencies: RouteDependencies,
  turn: ChatTurn,
  { key, runId }: { readonly key: SessionKey; readonly runId: string },
  shown: readonly (readonly ChatMessage[])[],
): Promise<void> {
  if (turn.isNamed) return
  const { names, reader, clock, log } = dependencies
  const { history, fresh } = turn.input
  const sent = [...history, ...fresh].map(({ message }) => message)
  const ways = new Set(shown.map((messages) => historyName(turn, [...sent, ...messages])))
  try {
    const run = (await findRun(reader, key, runId))?.id ?? runId
    const { messages } = await reader.messages(key, { order: 'descending', limit: 1, run })
    const about = { run, last: messages[0]?.id ?? '' }
    for (const name of ways) await names.give(key, name, about, clock.now() + HISTORY_MS)
  } catch (error) {
    // The run has ended successfully, so this failure is only logged. The client's next request starts a new session.
    log.warn('a conversation will not be found by its history', { session: key.session, error: String(error) })
  }
}
