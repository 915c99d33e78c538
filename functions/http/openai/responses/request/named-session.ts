import type { Caller } from '../../../../access/caller.ts'
import type { Session } from '../../../../domain/session.ts'
import type { RouteDependencies } from '../../../dependencies.ts'
import { existing } from '../../../run-steps/open-session.ts'
import { BAD_SESSION_ID } from '../../../v1/fields.ts'
import { SESSION_PATTERN } from '../../../../domain/ids.ts'
import { refused } from '../../chat/chat-request.ts'
import { findConversation, findPrevious } from '../accept-response.ts'

/** The fields by which a request can name a session. */
export interface Naming {
  readonly previous?: string | null | undefined
  readonly conversation?: string | null | undefined
  /** The id in the header. A session with this id need not exist yet. */
  readonly header?: string | undefined
}

/** Rejects a request that names its session twice, and a malformed id of a conversation. */
export function requireOneName({ previous, conversation, header }: Naming): void {
  if (typeof conversation === 'string' && !SESSION_PATTERN.test(conversation))
    throw refused('conversation', BAD_SESSION_ID)
  const naming = Object.entries({ previous_response_id: previous, conversation, 'x-session-id': header })
  const [first, second] = naming.flatMap(([name, value]) => (typeof value === 'string' ? [name] : []))
  if (first !== undefined && second !== undefined)
    throw refused(first, `cannot be combined with ${second}: each of them names a session`)
}

/**
 * Finds the session that a request names. Undefined if the request names none, or names one that does not exist yet.
 */
export async function namedSession(
  dependencies: RouteDependencies,
  caller: Caller,
  { previous, conversation, header }: Naming,
): Promise<Session | undefined> {
  if (typeof previous === 'string') return (await findPrevious(dependencies, caller, previous)).session
  if (typeof conversation === 'string') return findConversation(dependencies, caller, conversation, 'body')
  return header === undefined ? undefined : existing(dependencies, caller, header)
}
