import { ProtocolError, SdkHttpError } from '@modelcontextprotocol/client'

/** Words of servers that do not know the session, or that were restarted and wait for the introduction. */
const FORGOTTEN =
  /\b(?:mcp-)?session\b|\bsession_?id\b|not (?:yet |been )?initiali[sz]ed|(?:before|without|no|missing) initiali[sz]ation|initiali[sz]e (?:request )?(?:first|required)/iu

/** Words about a session that the server does not know. */
const UNKNOWN =
  /\b(?:not? (?:found|valid|such|active|exist\w*|known|recogni[sz]ed|open)|(?:does|do) ?n[o']t exist|unknown|invalid|expired?|missing|required?|terminated|closed|lost|gone|stale|unrecogni[sz]ed|initiali[sz]\w*)\b/iu

/** Statuses below 500 with which servers refuse a request for its session. */
const REFUSING = new Set([400, 401, 409, 410, 422])

/**
 * The state of the protocol's session that an error reports. `refused`: the server did not start the request, because it does not know
 * the session. `unclear`: it may have forgotten the session, and may have started the request. `none`: nothing.
 */
export type SessionLoss = 'refused' | 'unclear' | 'none'

/** Judges an error of a request. `sessionId` is the session that the request named, if any. */
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
