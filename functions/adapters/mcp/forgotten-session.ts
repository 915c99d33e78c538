import { ProtocolError, SdkHttpError } from '@modelcontextprotocol/client'

/** Words of servers that do not know the session, or that were restarted and wait for the introduction. */
const FORGOTTEN =
  /\b(?:mcp-)?session\b|\bsession_?id\b|not (?:yet |been )?initiali[sz]ed|(?:before|without|no|missing) initiali[sz]ation|initiali[sz]e (?:request )?(?:first|required)/iu

/**
 * The state of the protocol's session that an error reports. `refused`: the server did not start the request, because it does not know
 * the session. `unclear`: it may have forgotten the session, and may have started the request. `none`: nothing.
 */
export type SessionLoss = 'refused' | 'unclear' | 'none'

/** Judges an error of a request. `sessionId` is the session that the request named, if any. */
export function sessionLoss(error: unknown, sessionId: string | undefined): SessionLoss {
  const isNamed = (text: string): boolean =>
    FORGOTTEN.test(text) || (sessionId !== undefined && sessionId.length >= 8 && text.includes(sessionId))
  if (error instanceof SdkHttpError) {
    const { status } = error
    if (status === 404) return 'refused'
    // A status below 500 refuses the request. A failure may come after the tool started.
    if (isNamed(error.message)) return status < 500 ? 'refused' : 'unclear'
    return sessionId === undefined || status === 429 ? 'none' : 'unclear'
  }
  return error instanceof ProtocolError && isNamed(error.message) ? 'unclear' : 'none'
}
