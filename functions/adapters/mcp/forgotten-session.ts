import { ProtocolError, SdkHttpError } from '@modelcontextprotocol/client'

/**
 * Matches error messages about a session, or about a missing initialization. After a restart, servers report that the
 * initialization is missing.
 */
const FORGOTTEN =
  /\b(?:mcp-)?session\b|\bsession_?id\b|not (?:yet |been )?initiali[sz]ed|(?:before|without|no|missing) initiali[sz]ation|initiali[sz]e (?:request )?(?:first|required)/iu

/** Matches phrases for an unknown session, such as "not found" or "expired". */
const UNKNOWN =
  /\b(?:not? (?:found|valid|such|active|exist\w*|known|recogni[sz]ed|open)|(?:does|do) ?n[o']t exist|unknown|invalid|expired?|missing|required?|terminated|closed|lost|gone|stale|unrecogni[sz]ed|initiali[sz]\w*)\b/iu

/** Statuses below 500 with which servers refuse a request because of its session. */
const REFUSING = new Set([400, 401, 409, 410, 422])

/**
 * Whether an error shows that the server has lost the protocol's session. `refused`: the server has lost the session,
 * and did not start the request. `unclear`: the server may have lost the session, and may have started the request.
 * `none`: the error is not about the session.
 */
export type SessionLoss = 'refused' | 'unclear' | 'none'

/**
 * Determines from a request's error whether the server has lost the session. `sessionId` is the session that the request named,
 * if any.
 */
export function sessionLoss(error: unknown, sessionId: string | undefined): SessionLoss {
  const hasId = (text: string): boolean => sessionId !== undefined && sessionId.length >= 8 && text.includes(sessionId)
  const isNamed = (text: string): boolean => FORGOTTEN.test(text) || hasId(text)
  if (!(error instanceof SdkHttpError))
    return error instanceof ProtocolError && isNamed(error.message) ? 'unclear' : 'none'
  const { status, message } = error
  if (status === 429) return 'none'
  if (status === 404) return 'refused'
  if (!isNamed(message)) return sessionId === undefined ? 'none' : 'unclear'
  // With any other status or text, the tool may have started.
  return REFUSING.has(status) && (UNKNOWN.test(message) || hasId(message)) ? 'refused' : 'unclear'
}
