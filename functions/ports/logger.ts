import type { Json } from '../domain/json.ts'

/**
 * Writes structured log lines for operators. Callers pass no contents of messages, no keys and no secrets. But a provider's error
 * may quote such data. So adapters remove the bytes of files, and everything that looks like a key, from each text.
 */
export interface Logger {
  info(message: string, fields?: { readonly [name: string]: Json | undefined }): void
  warn(message: string, fields?: { readonly [name: string]: Json | undefined }): void
  /** The line contains the stack of `cause`. */
  error(message: string, cause: unknown, fields?: { readonly [name: string]: Json | undefined }): void
}
