import { sha256 } from '../../../domain/hash.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { KEYS_MS, REPEAT_MS, scopeOf } from './chat-turn.ts'
import type { ChatTurn } from './chat-turn.ts'

/**
 * Takes note, before anything of it is stored, that this request answers calls of a run and says something beside: what it says may
 * become a run of its own, behind which a repetition would not find the calls.
 */
export async function noteAnswered(
  { names, clock }: RouteDependencies,
  turn: ChatTurn,
  session: SessionKey,
  run: string,
): Promise<void> {
  // Without a key or a run of its own, the same words may be meant anew: models use the ids of calls again.
  const isUnique = turn.idempotencyKey !== undefined || turn.answersTo !== undefined || isReported(turn)
  await names.give(session, nameOf(turn, session), { run }, clock.now() + (isUnique ? KEYS_MS : REPEAT_MS))
}

/** Whether the request itself tells what it follows, in a session that it names: the calls and what came before. */
export const isReported = ({ isNamed, input }: ChatTurn): boolean => isNamed && input.history.length > 0

/** The run whose calls an earlier attempt of this request has answered, if it said something beside. */
export async function answeredBefore(
  { names }: RouteDependencies,
  turn: ChatTurn,
  session: SessionKey,
): Promise<string | undefined> {
  const { results, said } = turn.input
  if (results.length === 0 || said.length === 0) return undefined
  const found = await names.find(session.tenant, nameOf(turn, session))
  return found?.session === session.session ? (found.about['run'] as string) : undefined
}

const nameOf = (turn: ChatTurn, { session }: SessionKey): string =>
  `answers ${sha256(JSON.stringify([scopeOf(turn), session, turn.idempotencyKey ?? null, turn.bodyHash]))}`
