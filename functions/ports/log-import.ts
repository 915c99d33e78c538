import type { ImportName, ImportProgress, ImportStep } from '../domain/messages/imported.ts'
import type { SessionHeader, SessionKey } from '../domain/session.ts'

/** Adds turns that were executed elsewhere to logs that nobody works on. */
export interface LogImport {
  /** Undefined: nothing was stored under this name. Rejects with `session_not_found`, `idempotency_conflict`. */
  progress(key: SessionKey, name: ImportName): Promise<ImportProgress | undefined>
  /**
   * Stores one step, all or nothing, together with the progress of its name. Returns that, or undefined and writes nothing if
   * the session is not as it was `seen`: no lease, no run active or queued, the same generation; or if the name has come
   * further meanwhile. Counts the messages, and stores the opening of the first input as `RunInbox.enqueue` does. The generation grows, so that nobody who saw the session before writes to it.
   */
  append(seen: SessionHeader, step: ImportStep): Promise<ImportProgress | undefined>
}
