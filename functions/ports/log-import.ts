import type { ImportName, ImportProgress, ImportStep } from '../domain/messages/imported.ts'
import type { SessionHeader, SessionKey } from '../domain/session.ts'

/** Adds turns that were executed elsewhere to logs of idle sessions. */
export interface LogImport {
  /**
   * Reads the progress of an import; undefined if nothing was stored under this name. Rejects with `session_not_found`,
   * `idempotency_conflict`.
   */
  progress(key: SessionKey, name: ImportName): Promise<ImportProgress | undefined>
  /**
   * Stores one step and the progress of its name, all or nothing. Returns the progress. Writes nothing and returns
   * undefined if the session has changed since `seen`: it must have no lease, no active or queued run, and the same
   * generation. Does the same if the name's progress has advanced meanwhile.
   *
   * Counts the messages, and stores the opening of the first input like `RunInbox.enqueue`. Raises the generation, so
   * that a writer that read the session before is rejected.
   */
  append(seen: SessionHeader, step: ImportStep): Promise<ImportProgress | undefined>
}
