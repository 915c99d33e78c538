import { randomBytes } from 'node:crypto'
import { TooltrailError } from '../domain/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeyStore } from '../ports/key-store.ts'
import type { Logger } from '../ports/logger.ts'
import type { Caller } from './caller.ts'
import { createWatchedRequests, type Watched } from './watched-requests.ts'

/**
 * Limits of open streams and waiting requests in one process: for a key without its own cap, for a tenant, and for the process.
 * The tenant's limit keeps capacity free for other tenants.
 */
const MAX_REQUESTS_OF_KEY = 256
const MAX_REQUESTS_OF_TENANT = 1_024
const MAX_REQUESTS = 2_048
/**
 * Time after which the slot of a capped key expires unless it is renewed. An unrenewed slot may belong to a process
 * that was killed.
 */
const SLOT_MS = 300_000

interface Dependencies {
  readonly keys: Pick<KeyStore, 'find' | 'enter' | 'leave'>
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Logger
}

export interface OpenRequest {
  /** Aborts within 10 s after the key was revoked. */
  readonly signal: AbortSignal
  /** Ends the request; never rejects. */
  close(): Promise<void>
}

export interface OpenRequests {
  /**
   * Counts a request as open until it is closed. Rejects with `too_many_open_calls` if a limit of the key, the tenant
   * or the process is reached. A key's own cap limits its open requests in all processes together.
   */
  open(caller: Caller): Promise<OpenRequest>
  /** Like `open`, for a request that takes no slot, such as a file download. */
  watch(caller: Caller): OpenRequest
}

/** Counts open requests, and ends them when their key is revoked. */
export function createOpenRequests(dependencies: Dependencies): OpenRequests {
  const slots = createSlots()
  const watched = createWatchedRequests(dependencies)

  /** Opens a request with its slot. A request without a slot has nothing to renew or release. */
  function begin({ secretHash }: Caller, takesSlot: boolean, slot: Slot = NO_SLOT): OpenRequest {
    const one: Watched = { call: new AbortController(), takesSlot, keep: slot.keep }
    if (secretHash !== undefined) watched.add(secretHash, one)
    let closed: Promise<void> | undefined
    const close = async (): Promise<void> => {
      if (secretHash !== undefined) watched.remove(secretHash, one)
      await slot.release()
    }
    return { signal: one.call.signal, close: () => (closed ??= close()) }
  }

  return {
    async open(caller) {
      const { tenant, key, secretHash } = caller
      const most = key?.caps.openCalls
      if (most === undefined && secretHash !== undefined && watched.slotsOf(secretHash) >= MAX_REQUESTS_OF_KEY)
        throw tooMany(`key ${key?.id} has`, MAX_REQUESTS_OF_KEY)
      slots.take(tenant)
      const release = async (): Promise<void> => slots.release(tenant)
      if (key === undefined || most === undefined) return begin(caller, true, { ...NO_SLOT, release })
      try {
        const slot = await takeSlot(dependencies, key.id, most)
        return begin(caller, true, { ...slot, release: () => release().then(slot.release) })
      } catch (error) {
        slots.release(tenant)
        throw error
      }
    },
    watch: (caller) => begin(caller, false),
  }
}

interface Slot {
  /** Renews the slot. Called every few seconds; never rejects. */
  keep(): Promise<void>
  /** Releases the slot; never rejects. */
  release(): Promise<void>
}

const NO_SLOT: Slot = { keep: async () => undefined, release: async () => undefined }

/** Takes one of the slots that a key has over all processes. */
async function takeSlot({ keys, clock, log }: Dependencies, key: string, most: number): Promise<Slot> {
  const call = randomBytes(9).toString('base64url')
  let until = clock.now() + SLOT_MS
  if (!(await keys.enter(key, { call, most, until }, clock.now()))) throw tooMany(`key ${key} has`, most)
  let isOver = false
  return {
    async keep() {
      const now = clock.now()
      if (isOver || until - now > SLOT_MS / 2) return
      try {
        // If the slot expired and another request took it, this request continues without a slot.
        if (await keys.enter(key, { call, most, until: now + SLOT_MS }, now)) until = now + SLOT_MS
        if (isOver) await keys.leave(key, call)
      } catch (error) {
        log.error('could not keep the place of an open call', error)
      }
    },
    async release() {
      isOver = true
      try {
        await keys.leave(key, call)
      } catch (error) {
        log.error(`could not give back the place of an open call: it is taken for ${SLOT_MS / 60_000} minutes`, error)
      }
    },
  }
}

/** Counts the slots of the process and of each tenant. */
function createSlots() {
  const ofTenants = new Map<string, number>()
  let taken = 0
  return {
    /** Takes a slot. Throws if none is free. */
    take(tenant: string): void {
      const ofTenant = ofTenants.get(tenant) ?? 0
      if (taken >= MAX_REQUESTS) throw tooMany('this server has', MAX_REQUESTS)
      if (ofTenant >= MAX_REQUESTS_OF_TENANT) throw tooMany(`tenant ${tenant} has`, MAX_REQUESTS_OF_TENANT)
      taken++
      ofTenants.set(tenant, ofTenant + 1)
    },
    release(tenant: string): void {
      const left = (ofTenants.get(tenant) ?? 0) - 1
      taken--
      if (left > 0) ofTenants.set(tenant, left)
      else ofTenants.delete(tenant)
    },
  }
}

const tooMany = (who: string, most: number): TooltrailError =>
  new TooltrailError(
    'too_many_open_calls',
    `${who} ${most} ${most === 1 ? 'stream or waiting call' : 'streams and waiting calls'} open, which is the limit: close some, or send Prefer: respond-async`,
    { retryable: true },
  )
