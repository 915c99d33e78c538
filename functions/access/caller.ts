import { definedFields } from '../domain/defined-fields.ts'
import { isExpired, type ApiKey, type Scope } from '../domain/keys/api-key.ts'
import { TooltrailError } from '../domain/errors.ts'
import type { KeyStore } from '../ports/key-store.ts'
import { hashKeySecret, isKeySecret } from './key-secret.ts'

/** For whom a request acts. */
export interface Caller {
  readonly tenant: string
  readonly scopes: readonly Scope[]
  /** Sees and makes only sessions of this owner. */
  readonly owner?: string
  /** Absent when access is open. */
  readonly key?: ApiKey
  /** Finds the key again while it is valid. */
  readonly secretHash?: string
}

/** The caller of a server on which no key was ever made. */
export const OPEN_CALLER: Caller = { tenant: 'default', scopes: ['read', 'write', 'admin'] }

/** The caller who presents this key; undefined if the text is no key, or the key is unknown or revoked. An expired key has a caller. */
export async function findCaller(
  keys: Pick<KeyStore, 'find'>,
  secret: string,
  defaultCaps: ApiKey['caps'] = {},
): Promise<Caller | undefined> {
  if (!isKeySecret(secret)) return undefined
  const secretHash = hashKeySecret(secret)
  const key = await keys.find(secretHash)
  if (key === undefined) return undefined
  return {
    tenant: key.tenant,
    scopes: key.scopes,
    key: { ...key, caps: { ...defaultCaps, ...key.caps } },
    secretHash,
    ...definedFields({ owner: key.owner }),
  }
}

/** Whether keys were made and each is revoked or expired: every request is refused until a new one is made. */
export async function isLockedOut(keys: Pick<KeyStore, 'list'>, now: number): Promise<boolean> {
  const all = await keys.list()
  return all.length > 0 && all.every((key) => key.revokedAt !== undefined || isExpired(key, now))
}

/** Whether the caller may do what needs this scope; `admin` may do everything. */
export const mayUse = ({ scopes }: Caller, scope: Scope): boolean => scopes.includes(scope) || scopes.includes('admin')

/**
 * Refuses an agent that the caller's key does not name, with `agent_not_allowed`. A key that names no agent may use
 * all.
 */
export function requireAgent({ key }: Caller, agent: string): void {
  if (key?.agents === undefined || key.agents.includes(agent)) return
  const allowed = key.agents.map((name) => JSON.stringify(name)).join(', ')
  throw new TooltrailError('agent_not_allowed', `this key may use ${allowed}, not the agent ${JSON.stringify(agent)}`)
}
