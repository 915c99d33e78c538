import { sha256 } from '../../../domain/hash.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { KEYS_MS, REPEAT_MS, scopeOf } from './chat-turn.ts'
import type { ChatTurn } from './chat-turn.ts'

/**
 * Records that this request both answers calls of a run and has new input. The record is stored before anything else.
 * The input may start a new run; without the record, a retry would look for the calls in that new run.
 */
export async function noteAnswered(
  { names, clock }: RouteDependencies,
  turn: ChatTurn,
  session: SessionKey,
  run: string,
): Promise<void> {
  // Models reuse call ids. So an equal request may be a new one, unless a key, a run or the history identifies the
  // calls. Without such an identification, the record is kept only briefly.
  const isUnique = turn.idempotencyKey !== undefined || turn.answersTo !== undefined || isReported(turn)
  await names.give(session, nameOf(turn, session), { run }, clock.now() + (isUnique ? KEYS_MS : REPEAT_MS))
}

/**
 * Whether the request names its session and contains the history before its answers. Such a request identifies the
 * calls that it answers.
 */
const isReported = ({ isNamed, input }: ChatTurn): boolean => isNamed && input.history.length > 0

/**
 * Returns the run whose calls an earlier attempt of this request answered; undefined if that attempt had no new input.
 */
export async function answeredBefore(
  { names }: RouteDependencies,
  turn: ChatTurn,
  session: SessionKey,
): Promise<string | undefined> {
  const { results, said } = turn.input
  if (results.length === 0 || said.length === 0) return undefined
  const nameOfEarlierVersion = nameOf(turn, session, turn.bodyHash)
  const found =
    (await names.find(session.tenant, nameOf(turn, session))) ??
    (await names.find(session.tenant, nameOfEarlierVersion))
  return found?.session === session.session ? (found.about['run'] as string) : undefined
}

const nameOf = (turn: ChatTurn, { session }: SessionKey, hash = turn.turnHash): string =>
  `answers ${sha256(JSON.stringify([scopeOf(turn), session, turn.idempotencyKey ?? null, hash]))}`
