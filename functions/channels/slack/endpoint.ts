import type { Clock } from '../../ports/clock.ts'
import type { InboundEndpoint } from '../../ports/inbound-endpoint.ts'
import type { Logger } from '../../ports/logger.ts'
import { readRequest } from './inbound/requests.ts'
import { DuplicateNotice, SlackBusy, SlackRefusal, SlackSilence } from './api/slack-error.ts'

export interface EndpointDependencies {
  readonly clock: Clock
  readonly logger: Logger
  /** Undefined until an app is configured. */
  signingSecret(): Promise<string | undefined>
  takeEvent(payload: unknown): Promise<void>
  takeInteraction(payload: unknown): Promise<void>
}

class TooLong extends Error {}

const NO_APP = { status: 404, code: 'not_found', detail: 'Slack is not set up here' } as const
const SILENT = { status: 503, code: 'slack_unavailable', detail: 'Slack itself cannot be asked just now' } as const

/** Timeout of the response. Slack waits 3 s, and then repeats the request. */
const ACK_TIMEOUT_MS = 2_500

/**
 * The endpoint for all requests from Slack. It responds with 200 once the requested work is durable. Slack repeats a
 * request that gets another response, or no response in time.
 */
export function createSlackEndpoint({
  clock,
  logger,
  signingSecret,
  takeEvent,
  takeInteraction,
}: EndpointDependencies): InboundEndpoint {
  /** Rejects with `TooLong` shortly before Slack stops waiting for the response; the work itself continues. */
  async function inTime(taking: Promise<void>): Promise<void> {
    const taken = new AbortController()
    const tooLong = clock.sleep(ACK_TIMEOUT_MS, taken.signal).then(() => {
      taking.catch((error: unknown) => logger.warn('what took too long failed', { error: String(error) }))
      throw new TooLong('it took too long')
    })
    try {
      await Promise.race([taking, tooLong])
    } finally {
      taken.abort()
    }
  }

  return {
    path: '/slack/events',
    async open(request) {
      const secret = await signingSecret()
      // An empty secret would accept any request signed with an empty key.
      if (secret === undefined || secret === '') return NO_APP
      const read = await readRequest({ clock, secret }, request)
      if (read.type === 'refused') return read.refusal
      if (read.type === 'url_verification') return Response.json({ challenge: read.challenge })
      try {
        if (read.type === 'event') await inTime(takeEvent(read.payload))
        if (read.type === 'interaction') await inTime(takeInteraction(read.payload))
      } catch (error) {
        if (
          !(
            error instanceof SlackSilence ||
            error instanceof SlackRefusal ||
            error instanceof SlackBusy ||
            error instanceof DuplicateNotice ||
            error instanceof TooLong
          )
        )
          throw error
        logger.warn('what Slack sent could not be taken', { error: error.message })
        return SILENT
      }
      return new Response(null, { status: 200 })
    },
  }
}
