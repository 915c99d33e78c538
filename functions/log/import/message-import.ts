import type { ClosedMessage } from '../../domain/messages/closed-message.ts'

/** Reads the messages of one log, from its beginning and in order. */
export interface MessageImport {
  /**
   * What this message adds: itself, behind the calls that it leaves without a result. `at` is its path in the request.
   * Throws `ImportRefused` for what is not of the format.
   */
  take(value: unknown, at: string): readonly ClosedMessage[]
  /** What the end of the log leaves without a result. */
  end(): readonly ClosedMessage[]
}
