import { definedFields } from '../domain/defined-fields.ts'
import { isExpired, type ApiKey, type Scope } from '../domain/keys/api-key.ts'
import { TooltrailError } from '../domain/errors.ts'
import type { KeyStore } from '../ports/key-store.ts'
import { hashKeySecret, isKeySecret } from './key-secret.ts'

/** The identity and rights with which a request acts. */
export interface Caller {
  readonly tenant: string
  readonly scopes: readonly Scope[]
  /** If set, the caller sees and creates only sessions of this owner. */
  readonly owner?: string
  /** Absent if the server does not require keys yet and the request has no valid key. */
  readonly key?: ApiKey
  /** Hash of the key's secret. Later checks find the key by this hash while the key is valid. */
  readonly secretHash?: string
}

/** The caller on a server for which no key was ever created. */
export const OPEN_CALLER: Caller = { tenant: 'default', scopes: ['read', 'write', 'admin'] }

/**
 * Finds the caller with this key. Undefined if the text is not a key, or the key is unknown or revoked. Also finds the caller
 * of an expired key, because the authentication of requests checks the expiry.
 */
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

/** Whether keys exist but all are revoked or expired: every request is rejected until a new key is created. */
export async function isLockedOut(keys: Pick<KeyStore, 'list'>, now: number): Promise<boolean> {
  const all = await keys.list()
  return all.length > 0 && all.every((key) => key.revokedAt !== undefined || isExpired(key, now))
}

/** Whether the caller has this scope; `admin` includes all scopes. */
export const mayUse = ({ scopes }: Caller, scope: Scope): boolean => scopes.includes(scope) || scopes.includes('admin')

/**
 * Throws `agent_not_allowed` for an agent that the caller's key does not list. A key without a list may use all agents.
 */
export function requireAgent({ key }: Caller, agent: string): void {
  if (key?.agents === undefined || key.agents.includes(agent)) return
  const allowed = key.agents.map((name) => JSON.stringify(name)).join(', ')
  throw new TooltrailError('agent_not_allowed', `this key may use ${allowed}, not the agent ${JSON.stringify(agent)}`)
}
