import { sha256 } from '../../../domain/hash.ts'
import { nextId } from '../../../domain/ids.ts'
import type { Session, SessionKey } from '../../../domain/session.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { isCode } from '../../run-steps/open-session.ts'
import { acceptChatTurn } from './chat-session.ts'
import { KEYS_MS, scopeOf } from './chat-turn.ts'
import type { AcceptedTurn } from './chat-session.ts'
import type { ChatTurn, ReadyTurn } from './chat-turn.ts'

/** A turn after which a client continues, and the current state of its session. */
export interface KnownTurn {
  readonly session: Session
  /** Whether the turn is still the newest one in the session. */
  readonly isNewest: boolean
  /** Whether the turn's run is still active; the client's new input waits for its end. */
  readonly isActive: boolean
  /** Whether the input answers the turn's own calls, which exist only in this session. */
  readonly isAnswer: boolean
}

/**
 * Continues in the session of this turn, unless other turns were added there. A repeated request continues in the
 * session of its first attempt. Returns undefined if the client must continue in another session.
 */
export async function acceptAfter(
  dependencies: RouteDependencies,
  turn: ReadyTurn,
  { session, isNewest, isActive, isAnswer }: KnownTurn,
): Promise<AcceptedTurn | undefined> {
  const { names } = dependencies
  const claim = claimOf(turn)
  const claimed = claim === undefined ? undefined : await names.find(session.tenant, claim)
  const isClaimed = claimed?.session === session.session
  const mayBelong = isNewest || isClaimed || isAnswer
  if (!mayBelong || (claimed !== undefined && !isClaimed)) return undefined
  if (!isClaimed) await keepClaim(dependencies, turn, session)
  try {
    const onBusy = isActive && isNewest ? {} : { onBusy: 'reject' as const }
    return await acceptChatTurn(dependencies, { ...turn, session: session.session, ...onBusy })
  } catch (error) {
    if (!isCode(error, 'session_busy')) throw error
    return undefined
  }
}

/**
 * Returns the id of the other session in which a client continues. All attempts under one idempotency key get the same
 * id.
 */
export function elsewhere({ clock }: RouteDependencies, turn: ChatTurn): string {
  const claim = claimOf(turn)
  return claim === undefined ? nextId(undefined, clock.now()) : `chat-${sha256(`elsewhere ${claim}`).slice(0, 40)}`
}

/** Records the session that will execute a request with an idempotency key. Called before the execution. */
export async function keepClaim(
  { names, clock }: RouteDependencies,
  turn: ChatTurn,
  session: SessionKey,
): Promise<void> {
  const claim = claimOf(turn)
  if (claim !== undefined) await names.give(session, claim, {}, clock.now() + KEYS_MS)
}

const claimOf = (turn: ChatTurn): string | undefined =>
  turn.idempotencyKey === undefined ? undefined : `request ${sha256(`${scopeOf(turn)} ${turn.idempotencyKey}`)}`
