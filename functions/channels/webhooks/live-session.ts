import type { SessionDeletion } from '../../ports/session-deletion.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { channelMayEnter } from '../../access/sessions.ts'
import { replacementIdOf, sessionIdOf } from './session-id.ts'

interface Dependencies {
  readonly sessions: Pick<SessionStore, 'read'>
  readonly deletion: Pick<SessionDeletion, 'state'>
}

/** Sessions of one name that may have been deleted within 30 days. */
const MAX_DELETED_SESSIONS = 20

/** Ids that keys of other owners may have taken, one after the other, before a delivery is refused. */
const MAX_TAKEN_IDS = 20

interface Delivered {
  readonly tenant: string
  readonly webhook: string
  readonly owner: string
  /** The session id that the webhook's settings name. */
  readonly name: string
}

/**
 * The session of a delivery. If a key that is bound to another owner has taken its id, another id takes its place, and keeps it
 * as long as its session lives: also after the taken id is free again.
 */
export async function sessionOfDelivery(
  dependencies: Dependencies,
  { tenant, webhook, owner, name }: Delivered,
): Promise<string> {
  const { sessions, deletion } = dependencies
  let free: string | undefined
  let kept: string | undefined
  let id = name
  for (let taken = 0; taken < MAX_TAKEN_IDS; taken++) {
    if (free === undefined) {
      const session = await liveSessionOf(dependencies, tenant, id)
      const found = await sessions.read({ tenant, session })
      if (found === undefined || channelMayEnter(found, owner)) free = session
    }
    id = replacementIdOf(webhook, id)
    const key = { tenant, session: id }
    const replacement = await sessions.read(key)
    if (replacement?.byChannel === true) kept = id
    const isUnused = replacement === undefined && (await deletion.state(key)) === undefined
    if (isUnused && free !== undefined) break
  }
  return kept ?? free ?? id
}

/**
 * The session that a conversation of this name is in, or goes into: the id of one that was deleted, by somebody or because its
 * days were over, cannot be used for 30 days, and another takes its place for as long as it lives.
 */
export async function liveSessionOf(
  { sessions, deletion }: Dependencies,
  tenant: string,
  name: string,
): Promise<string> {
  let free: string | undefined
  for (let number = 1; number <= MAX_DELETED_SESSIONS; number++) {
    const session = number === 1 ? name : sessionIdOf(`${name} ${number}`)
    const key = { tenant, session }
    if ((await sessions.read(key)) !== undefined) return session
    if ((await deletion.state(key)) !== undefined) continue
    free ??= session
    // The one that took its place outlives the 30 days.
    if (number > 1) break
  }
  return free ?? name
}
