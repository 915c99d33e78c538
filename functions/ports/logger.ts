import type { Json } from '../domain/json.ts'

/**
 * Structured log lines for operators. Callers give no contents of messages, no keys and no secrets. The error of a provider may
 * quote some all the same, so adapters take what has the form of a key, and the bytes of files, out of each text.
 */
export interface Logger {
  info(message: string, fields?: { readonly [name: string]: Json | undefined }): void
  warn(message: string, fields?: { readonly [name: string]: Json | undefined }): void
  /** `cause`'s stack is part of the line. */
  error(message: string, cause: unknown, fields?: { readonly [name: string]: Json | undefined }): void
}
