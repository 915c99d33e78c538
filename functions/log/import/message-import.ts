import type { ClosedMessage } from '../../domain/messages/closed-message.ts'

/** Reads the messages of one log, from its beginning and in order. */
export interface MessageImport {
  /**
   * Returns the closed messages that this message adds. First come the calls that it leaves without a result, then the message
   * itself. `at`: the message's path in the request. Throws `ImportRefused` if the message does not match the format.
   */
  take(value: unknown, at: string): readonly ClosedMessage[]
  /** Returns each call that has no result at the end of the log, as `interrupted`. */
  end(): readonly ClosedMessage[]
}
