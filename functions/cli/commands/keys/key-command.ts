import type { ApiKey } from '../../../domain/keys/api-key.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { KeyStore } from '../../../ports/key-store.ts'
import { isLockedOut, OPEN_CALLER } from '../../../access/caller.ts'
import { hashKeySecret, newKeySecret } from '../../../access/key-secret.ts'
import { KeyCommandError, newKey, readCapChange, type CapOptions, type KeyOptions } from './key-options.ts'
import { describeKey, keyJson } from './key-text.ts'

const LOCKED_OUT =
  'All keys are revoked or expired: no request is accepted until you make another one: npx tooltrail keys create --tenant <tenant> --scope admin\n'

const CAPPED =
  'The caps hold from the next request on. Cancel runs in flight: POST /v1/sessions/<session>/runs/<run>/cancel\n'

export interface KeyDependencies {
  readonly keys: KeyStore
  readonly clock: Clock
  /** The names of the configured agents; absent if they are unknown here. */
  readonly declared?: () => ReadonlySet<string>
}

export interface Printed {
  /** The text for standard output, which scripts read. */
  readonly output: string
  /** The explanation for a person, for standard error. */
  readonly note?: string
}

/** Creates the key that the options describe. Rejects with `KeyCommandError`, as the other functions do. */
export async function createKey({ keys, clock, declared }: KeyDependencies, options: KeyOptions): Promise<Printed> {
  const secret = newKeySecret()
  const key = newKey(options, clock.now())
  const unknown = unknownAgents(key, declared)
  const isFirst = !(await keys.any())
  await keys.create(hashKeySecret(secret), key)
  const keep = 'Keep the key: it is not shown again. Send it as: Authorization: Bearer <key>'
  const note = `${describeKey(key, clock.now())}\n${keep}\n${unknown}${isFirst ? ofFirst(key) : ''}`
  return { output: `${secret}\n`, note }
}

interface ListOptions {
  readonly tenant?: string | undefined
  readonly json?: boolean | undefined
}

/** Lists the keys of a tenant, or all keys. */
export async function listKeys(
  { keys, clock }: KeyDependencies,
  { tenant, json = false }: ListOptions,
): Promise<Printed> {
  const found = await keys.list(tenant)
  if (json) return { output: found.map((key) => `${keyJson(key)}\n`).join('') }
  if (found.length === 0) return { output: '', note: 'There are no keys.\n' }
  return { output: found.map((key) => `${describeKey(key, clock.now())}\n`).join('') }
}

/** Changes the named caps of a key, and keeps the others. */
export async function capKey({ keys, clock }: KeyDependencies, id: string, options: CapOptions): Promise<Printed> {
  const changed = await keys.cap(id, readCapChange(options))
  if (changed !== undefined) return { output: `${describeKey(changed, clock.now())}\n`, note: CAPPED }
  const isRevoked = (await keys.list()).some((key) => key.id === id)
  throw new KeyCommandError(
    isRevoked ? `key ${id} is revoked: no request uses it` : `there is no key ${id}: list them with "keys list"`,
  )
}

/** Revokes a key. */
export async function revokeKey({ keys, clock }: KeyDependencies, id: string): Promise<Printed> {
  if (!(await keys.revoke(id, clock.now())))
    throw new KeyCommandError(`there is no key ${id}: list them with "keys list"`)
  const isLast = await isLockedOut(keys, clock.now())
  return { output: `Key ${id} is revoked.\n`, note: isLast ? LOCKED_OUT : '' }
}

/** A warning about unknown agents. It is no error, because agents may be configured later. */
function unknownAgents({ agents = [] }: ApiKey, declared: KeyDependencies['declared']): string {
  const there = agents.length === 0 ? undefined : declared?.()
  const unknown = there === undefined ? [] : agents.filter((agent) => !there.has(agent))
  return there === undefined || unknown.length === 0
    ? ''
    : `\nNo such agent yet: ${unknown.join(', ')}. The key cannot use it before agents.json declares it; there are now: ${[...there].join(', ')}.\n`
}

/** Describes the effects of the first key. */
function ofFirst({ tenant, owner }: ApiKey): string {
  const begins = `\nThis is the first key: from now on every request needs one. Sessions made without a key belong to the tenant ${OPEN_CALLER.tenant}`
  const isOfTenant = tenant === OPEN_CALLER.tenant
  if (isOfTenant && owner === undefined) return `${begins}, as this key does.\n`
  const seen = isOfTenant
    ? `sees those of ${owner} alone. To make one that sees all`
    : 'does not see them. To make one that does'
  return `${begins}. This key ${seen}: npx tooltrail keys create --tenant ${OPEN_CALLER.tenant} --scope admin\n`
}
