import type { ApiKey } from '../domain/api-key.ts'

/** API keys by the SHA-256 (hex) of their secret. */
export interface KeyStore {
  create(hash: string, key: ApiKey): Promise<void>
  /** Undefined for unknown and revoked keys. */
  find(hash: string): Promise<ApiKey | undefined>
  list(tenant?: string): Promise<readonly ApiKey[]>
  /** Answers false when there is no such key. */
  revoke(id: string, now: number): Promise<boolean>
  /** Whether any key, live or revoked, was ever made: then requests need one. */
  any(): Promise<boolean>
}
