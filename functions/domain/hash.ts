import { hash } from 'node:crypto'

type Encoding = 'hex' | 'base64' | 'base64url'

/** SHA-256 of a text (as UTF-8) or of bytes. */
export const sha256 = (data: string | Uint8Array, encoding: Encoding = 'hex'): string => hash('sha256', data, encoding)

/** The 32 bytes of SHA-256. */
export const sha256Bytes = (data: string | Uint8Array): Buffer => hash('sha256', data, 'buffer')
