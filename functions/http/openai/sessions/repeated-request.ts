import { nextId } from '../../../domain/ids.ts'
import { sha256 } from '../../../domain/hash.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { KEYS_MS, scopeOf } from './chat-turn.ts'
import type { Attempt, ChatTurn } from './chat-turn.ts'

/**
 * Maximum number of undelivered attempts of one turn that are remembered; a further one replaces the oldest. Several people may
 * send the same text with one key.
 */
const MAX_ATTEMPTS = 4

/** The stored data of an attempt. */
interface Noted {
  readonly keyHash: string
  readonly startedAt: number
  readonly isDelivered?: boolean
}

/**
 * Finds the attempt that a repeated request attaches to. It is the newest attempt of the same client and the same
 * folded messages whose response was not delivered completely. Undefined if the client does not say that it repeats the
 * request. Also undefined for a request with an idempotency key, because its repetitions are detected by that key.
 */
export async function earlierAttempt(dependencies: RouteDependencies, turn: ChatTurn): Promise<Attempt | undefined> {
  if (!turn.isRetry || turn.idempotencyKey !== undefined) return undefined
  const undelivered: Attempt[] = []
  for (let slot = 0; slot < MAX_ATTEMPTS; slot++) {
    const noted = await readSlot(dependencies, turn, slot)
    // A deleted or expired session leaves its slot empty.
    if (noted !== undefined && !noted.isDelivered) undelivered.push(noted)
  }
  return (
    undelivered.toSorted((one, other) => other.startedAt - one.startedAt)[0] ?? noteOfEarlierVersion(dependencies, turn)
  )
}

/** Stores the key of an attempt before its turn is submitted. Returns undefined for a turn with an idempotency key. */
export async function noteAttempt(
  dependencies: RouteDependencies,
  turn: ChatTurn,
  { tenant, session }: SessionKey,
): Promise<Attempt | undefined> {
  if (turn.attempt !== undefined || turn.idempotencyKey !== undefined) return turn.attempt
  const { names, clock } = dependencies
  const startedAt = clock.now()
  const noted: Noted = { keyHash: sha256(`attempt ${nextId(undefined, startedAt)}`), startedAt }
  const name = slotName(turn, await freeSlot(dependencies, turn))
  await names.give({ tenant, session }, name, { ...noted }, startedAt + KEYS_MS)
  return { name, session, ...noted }
}

/** Remembers that a response was delivered completely. Before that, a repeated request attaches to the response's run. */
export async function noteDelivered(
  { names, clock, log }: RouteDependencies,
  { tenant }: SessionKey,
  attempt: Attempt | undefined,
): Promise<void> {
  if (attempt === undefined) return
  const { name, session, keyHash, startedAt } = attempt
  const noted = { keyHash, startedAt, isDelivered: true }
  try {
    // A later attempt may have replaced this one in its slot. Records of earlier versions have no hash.
    const found = await names.find(tenant, name)
    if (found === undefined || (found.about['keyHash'] ?? keyHash) !== keyHash) return
    await names.give({ tenant, session }, name, noted, clock.now() + KEYS_MS)
  } catch (error) {
    // The failure is only logged, because the response is complete. It matters only if the client repeats the request:
    // the repetition then attaches to this run.
    log.warn('a delivered response counts as undelivered', { session, error: String(error) })
  }
}

/**
 * Returns the first slot that is empty or has a delivered attempt. If there is none, returns the slot of the oldest
 * attempt.
 */
async function freeSlot(dependencies: RouteDependencies, turn: ChatTurn): Promise<number> {
  let [oldest, oldestAt] = [0, Infinity]
  for (let slot = 0; slot < MAX_ATTEMPTS; slot++) {
    const noted = await readSlot(dependencies, turn, slot)
    if (noted === undefined || noted.isDelivered) return slot
    if (noted.startedAt < oldestAt) [oldest, oldestAt] = [slot, noted.startedAt]
  }
  return oldest
}

async function readSlot(
  { names }: RouteDependencies,
  turn: ChatTurn,
  slot: number,
): Promise<(Attempt & { readonly isDelivered: boolean }) | undefined> {
  const name = slotName(turn, slot)
  const found = await names.find(turn.caller.tenant, name)
  if (found === undefined) return undefined
  const { keyHash, startedAt, isDelivered = false } = found.about as unknown as Noted
  return { name, session: found.session, keyHash, startedAt, isDelivered }
}

const slotName = (turn: ChatTurn, slot: number): string => `attempt ${slot} ${turn.turnHash}`

/**
 * Finds an undelivered turn of a named session, as stored by a version before 2026-12. That version derived the turn's
 * key from the run before the turn.
 */
async function noteOfEarlierVersion({ names }: RouteDependencies, turn: ChatTurn): Promise<Attempt | undefined> {
  if (!turn.isNamed || turn.place === undefined) return undefined
  const name = `turn ${sha256(JSON.stringify([scopeOf(turn), turn.place, turn.bodyHash]))}`
  const found = await names.find(turn.caller.tenant, name)
  if (found?.session !== turn.place) return undefined
  const { before, shown } = found.about as { readonly before: string; readonly shown?: readonly string[] }
  if (shown !== undefined) return undefined
  return { name, session: found.session, keyHash: sha256(`chat-completions ${before} ${turn.bodyHash}`), startedAt: 0 }
}
