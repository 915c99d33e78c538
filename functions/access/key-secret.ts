import { randomBytes } from 'node:crypto'
import { sha256 } from '../domain/hash.ts'

const PREFIX = 'tt_'
const SECRET = /^tt_[A-Za-z0-9_-]{43,128}$/

/** Creates an API key of 32 random bytes. It is shown once; only its hash is stored. */
export const newKeySecret = (): string => PREFIX + randomBytes(32).toString('base64url')

/** Returns the SHA-256 (hex) under which a key is stored. */
export const hashKeySecret = (secret: string): string => sha256(secret)

/** Whether a text has the form of an API key. */
export const isKeySecret = (text: string): boolean => SECRET.test(text)

/** Whether a text looks like one of our API keys, even if it was truncated or changed. */
export const looksLikeKey = (text: string): boolean => text.startsWith(PREFIX)
