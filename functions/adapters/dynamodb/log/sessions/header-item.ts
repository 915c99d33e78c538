import { definedFields } from '../../../../domain/defined-fields.ts'
import { LeaseLost, TooltrailError } from '../../../../domain/errors.ts'
import { LEASE_MS, type Lease, type SessionHeader, type SessionKey } from '../../../../domain/session.ts'
import { flagAt, numberAt, textAt, type Item } from '../../attributes.ts'
import { absent, all, any, below, is, present, type Change, type Condition } from '../../expressions.ts'
import { sessionOf, timeOfPlace } from '../../keys.ts'

/*
 * In addition to the protocol's fields, a header has:
 *
 * - `due_shard`, `group`, `owner_group`, `at`: the keys of the indexes. Fields for lists are described in
 *   `list-entries.ts`.
 * - `messages` and times of messages: described in `message-numbers.ts`.
 * - `opened`: the session has an opening (`opening-item.ts`).
 * - `started`: the run that started last. Runs with lower ids are no longer queued.
 * - `runs`: the number of runs that have started.
 * - `ttl_days`: the days after which the session expires.
 * - `copy_gen`: the generation after the last step of a copy that is not complete (`deletion/expiry.ts`).
 * - `rounds` and token counts of the active run.
 */

/** Returns the coordination state of an item. */
export function headerOf(item: Item): SessionHeader {
  const [owner, until] = [textAt(item, 'lease_owner'), numberAt(item, 'lease_until')]
  const [run, reason] = [textAt(item, 'cancel_run'), textAt(item, 'cancel_reason')]
  return {
    ...sessionOf(item),
    status: textAt(item, 'status') === 'live' ? 'live' : 'deleted',
    generation: numberAt(item, 'gen') ?? 0,
    ...(owner === undefined || until === undefined ? {} : { lease: { owner, until } }),
    paused: flagAt(item, 'paused'),
    waiting: numberAt(item, 'waiting') ?? 0,
    queued: numberAt(item, 'queued') ?? 0,
    ...(run === undefined ? {} : { cancel: { run, reason: reason === 'superseded' ? 'superseded' : 'user' } }),
    takeovers: numberAt(item, 'takeovers') ?? 0,
    ...definedFields({
      activeRun: textAt(item, 'active_run'),
      tail: textAt(item, 'tail'),
      head: textAt(item, 'head'),
      due: numberAt(item, 'due'),
    }),
  }
}

/** Returns the header of a live session. Throws `session_not_found` for anything else. */
export function liveHeader(item: Item | undefined, key: SessionKey): Item {
  if (!isLive(item)) throw new TooltrailError('session_not_found', `there is no session ${key.session}`)
  return item
}

export const isLive = (item: Item | undefined): item is Item => item !== undefined && textAt(item, 'status') === 'live'

/** Whether this lease holds the session. */
export const isHeld = (item: Item | undefined, lease: Lease): item is Item =>
  isLive(item) && numberAt(item, 'gen') === lease.generation

/** Whether the holder of this lease released it while the run was active, and no holder has acquired it since. */
export const wasReleased = (item: Item | undefined, lease: Lease): item is Item =>
  isLive(item) &&
  numberAt(item, 'gen') === lease.generation + 1 &&
  numberAt(item, 'lease_until') === undefined &&
  textAt(item, 'active_run') === lease.runId

/** Returns the header of the session that this lease holds. Throws `LeaseLost` for anything else. */
export function heldHeader(item: Item | undefined, lease: Lease): Item {
  if (!isHeld(item, lease)) throw new LeaseLost(lease.session, lease.generation)
  return item
}

export const live: Condition = is('status', 'live')
export const mine = (lease: Lease): Condition => all(live, is('gen', lease.generation))
export const freeAt = (now: number): Condition => any(absent('lease_until'), below('lease_until', now))
export const isNotBlocked: Condition = any(is('paused', false), is('waiting', 0), present('cancel_run'))
export const notCancelled: Condition = absent('cancel_run')
/** Requires that the log's last id is less than this one, because ids order the log. */
export const headBelow = (id: string): Condition => any(absent('head'), below('head', id))

/** Requires that the log's last id is the one that was read. */
export const headIs = (head: string | undefined): Condition => (head === undefined ? absent('head') : is('head', head))

/** Requires that the last accepted run is the one that was read. */
export const tailIs = (tail: string | undefined): Condition => (tail === undefined ? absent('tail') : is('tail', tail))

/**
 * Returns the change that releases the lease. It increases the generation, so that no late write can revive the lease.
 */
export const released = (lease: Lease): Change => ({
  set: { gen: lease.generation + 1 },
  remove: ['lease_owner', 'lease_until'],
})

/** Returns the change that gives the lease to `owner` for `LEASE_MS`. */
export const leased = (generation: number, owner: string, now: number): Change => ({
  set: { gen: generation + 1, lease_owner: owner, lease_until: now + LEASE_MS, due: now + LEASE_MS, paused: false },
})

/** Returns the change that makes the session due now, unless it is due already. */
export const woken = (now: number): Change => ({ setIfAbsent: { due: now } })

/** Returns the time of the session's last activity. Earlier versions stored it as the header's position in lists. */
export const updatedAt = (header: Item): number =>
  numberAt(header, 'updated') ?? timeOfPlace(textAt(header, 'at') ?? '0')

/** Returns the time of a new activity. It never decreases, even if the clock is set back. */
export const activeAt = (header: Item, now: number): number => Math.max(updatedAt(header), now)
