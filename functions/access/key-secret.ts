import { randomBytes } from 'node:crypto'
import { sha256 } from '../domain/hash.ts'

const PREFIX = 'tt_'
const SECRET = /^tt_[A-Za-z0-9_-]{43,128}$/

/** A new API key: 32 random bytes. Shown once; only its hash is kept. */
export const newKeySecret = (): string => PREFIX + randomBytes(32).toString('base64url')

/** The SHA-256 (hex) under which a key is stored. */
export const hashKeySecret = (secret: string): string => sha256(secret)

/** Whether a text can be an API key at all. */
export const isKeySecret = (text: string): boolean => SECRET.test(text)

/** Whether a text says that it is an API key of ours, also if it was cut off or changed. */
export const looksLikeKey = (text: string): boolean => text.startsWith(PREFIX)
