import type { ApiKey, Scope } from '../domain/api-key.ts'
import { TooltrailError } from '../domain/errors.ts'
import type { KeyStore } from '../ports/key-store.ts'
import { hashKeySecret, isKeySecret } from './key-secret.ts'

/** For whom a request acts. */
export interface Caller {
  readonly tenant: string
  readonly scopes: readonly Scope[]
  /** Sees and makes only sessions of this owner. */
  readonly owner?: string
  /** Absent under open access. */
  readonly key?: ApiKey
  /** Finds the key again, as long as it is good. */
  readonly secretHash?: string
}

/** Who calls while no key was ever made and none is asked for. */
export const OPEN_CALLER: Caller = { tenant: 'default', scopes: ['read', 'write', 'admin'] }

/** The caller who presents this key; undefined for a text that is no key, and for an unknown or revoked one. */
export async function findCaller(keys: Pick<KeyStore, 'find'>, secret: string): Promise<Caller | undefined> {
  if (!isKeySecret(secret)) return undefined
  const secretHash = hashKeySecret(secret)
  const key = await keys.find(secretHash)
  if (key === undefined) return undefined
  return {
    tenant: key.tenant,
    scopes: key.scopes,
    key,
    secretHash,
    ...(key.owner === undefined ? {} : { owner: key.owner }),
  }
}

/** Whether keys were made and each has been revoked: nobody gets in until there is another one. */
export async function isLockedOut(keys: Pick<KeyStore, 'list'>): Promise<boolean> {
  const all = await keys.list()
  return all.length > 0 && all.every(({ revokedAt }) => revokedAt !== undefined)
}

/** Whether the caller may do what needs this scope; `admin` may do everything. */
export const mayUse = ({ scopes }: Caller, scope: Scope): boolean => scopes.includes(scope) || scopes.includes('admin')

/** Refuses an agent that the caller's key does not name, with `agent_not_allowed`; a key that names none may use all. */
export function requireAgent({ key }: Caller, agent: string): void {
  if (key?.agents === undefined || key.agents.includes(agent)) return
  const allowed = key.agents.map((name) => JSON.stringify(name)).join(', ')
  throw new TooltrailError('agent_not_allowed', `this key may use ${allowed}, not the agent ${JSON.stringify(agent)}`)
}
