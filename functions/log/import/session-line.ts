import { z } from 'zod'
import { definedFields } from '../../domain/defined-fields.ts'
import { ImportRefused } from '../../domain/messages/closed-message.ts'
import type { JsonObject } from '../../domain/json.ts'
import { MAX_TITLE_LENGTH, type SessionTitle } from '../../domain/session-title.ts'
import { jsonObject, parse } from './fields.ts'

/** Limit of a session's metadata, in bytes of JSON. */
const MAX_METADATA_BYTES = 16 * 1024

/**
 * Schema of the session fields that an import keeps, in the form of the API. A title without a source was set by hand.
 */
const sessionLine = z.object({
  title: z.string().max(MAX_TITLE_LENGTH).nullish(),
  title_source: z.enum(['given', 'agent', 'model', 'input']).nullish(),
  metadata: jsonObject.optional(),
})

/** Session properties from the first line of an import. */
export interface ImportedAbout {
  readonly title?: SessionTitle
  readonly metadata?: JsonObject
}

/** Whether a line is a session in the form of the API. A native export begins with one. */
export const isSessionLine = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'object' in value && value.object === 'session'

/**
 * Reads a session line. Throws `ImportRefused` with the path of each wrong field. `known`: existing metadata, which the
 * line extends.
 */
export function readSessionLine(value: unknown, known: JsonObject, at: string): ImportedAbout {
  const { title, title_source: source, metadata } = parse(sessionLine, value, at)
  const isTitled = typeof title === 'string' && title.trim() !== ''
  if (metadata !== undefined && Buffer.byteLength(JSON.stringify({ ...known, ...metadata })) > MAX_METADATA_BYTES)
    throw new ImportRefused([
      { path: `${at}.metadata`, message: 'must have at most 16 KB of JSON, with the metadata of the session' },
    ])
  return {
    ...(isTitled ? { title: { text: title, source: source ?? 'given' } } : {}),
    ...definedFields({ metadata }),
  }
}
