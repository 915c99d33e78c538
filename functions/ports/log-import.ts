import type { ImportName, ImportProgress, ImportStep } from '../domain/messages/imported.ts'
import type { SessionHeader, SessionKey } from '../domain/session.ts'

/** Adds turns that were executed elsewhere to logs of idle sessions. */
export interface LogImport {
  /**
   * Reads the progress of an import. Undefined if nothing was stored under this name. Rejects with `session_not_found` or
   * `idempotency_conflict`.
   */
  progress(key: SessionKey, name: ImportName): Promise<ImportProgress | undefined>
  /**
   * Stores one step and the progress of its import, all or nothing. Returns the progress. The session must have neither a
   * lease nor an active or queued run, and must still have the generation of `seen`. Otherwise, or if the import has advanced
   * since its progress was read, writes nothing and returns undefined.
   *
   * Counts the messages, and stores the opening of the first input like `RunInbox.enqueue`. Raises the generation, so that
   * writers that read the session earlier are rejected.
   */
  append(seen: SessionHeader, step: ImportStep): Promise<ImportProgress | undefined>
}
