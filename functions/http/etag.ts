import { sha256 } from '../domain/hash.ts'

/** The tag of a document, computed from its bytes. */
export const etagOf = (json: Uint8Array): string => `"${sha256(json, 'base64url').slice(0, 22)}"`

/** Whether an `If-None-Match` names this tag. Weak tags count, because equal tags mean equal bytes. */
export const isNamed = (header: string | undefined, tag: string): boolean =>
  (header ?? '').split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag)
