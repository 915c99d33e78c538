import type { Context } from 'hono'
import type { Logger } from '../../ports/logger.ts'
import type { AppEnv } from '../dependencies.ts'
import { bodyOf } from './response-bodies.ts'
import { describeError } from '../middleware/error-response.ts'
import type { Pieces } from './sequential-bodies.ts'

/**
 * Creates a body of these chunks. If a chunk fails, the response is aborted. One log line gives the reason, with a
 * stack only for unexpected errors. The response of a local server is aborted here, because that server would print the
 * error beside the log.
 */
export function loggedBody(c: Context<AppEnv>, log: Logger, pieces: Pieces): ReadableStream<Uint8Array> {
  return bodyOf({
    async next() {
      try {
        return await pieces.next()
      } catch (error) {
        const fields = { request_id: c.get('requestId') }
        const { status, detail } = describeError(error as Error)
        if (status < 500) log.info('a response broke off', { ...fields, reason: detail })
        else log.error('a response broke off', error, fields)
        const outgoing = c.env?.outgoing
        if (outgoing === undefined) throw error
        outgoing.destroy()
        return { done: true, value: undefined }
      }
    },
    return: () => pieces.return(),
  })
}
