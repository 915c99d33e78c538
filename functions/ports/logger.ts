import type { Json } from '../domain/json.ts'

/** Structured log lines for operators. Never contents of messages, keys or secrets; adapters take out what has the form of a key, for a provider's error may quote it. */
export interface Logger {
  info(message: string, fields?: { readonly [name: string]: Json | undefined }): void
  warn(message: string, fields?: { readonly [name: string]: Json | undefined }): void
  /** `cause`'s stack is part of the line. */
  error(message: string, cause: unknown, fields?: { readonly [name: string]: Json | undefined }): void
}
