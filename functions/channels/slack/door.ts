import type { Clock } from '../../ports/clock.ts'
import type { Door } from '../../ports/door.ts'
import type { Logger } from '../../ports/logger.ts'
import { readRequest } from './requests.ts'
import { SlackBusy, SlackRefusal, SlackSilence } from './slack-error.ts'

export interface DoorDependencies {
  readonly clock: Clock
  readonly logger: Logger
  /** Undefined while no app is set up. */
  signingSecret(): Promise<string | undefined>
  takeEvent(payload: unknown): Promise<void>
  takeInteraction(payload: unknown): Promise<void>
}

const NO_APP = { status: 404, code: 'not_found', detail: 'Slack is not set up here' } as const
const SILENT = { status: 503, code: 'slack_unavailable', detail: 'Slack itself cannot be asked just now' } as const

/** Everything that Slack sends, at one address. It responds with 200 once what is asked for is durable; Slack repeats all else. */
export function createSlackDoor({ clock, logger, signingSecret, takeEvent, takeInteraction }: DoorDependencies): Door {
  return {
    path: '/slack/events',
    async open(request) {
      const secret = await signingSecret()
      // An empty one would let in whoever signs with nothing.
      if (secret === undefined || secret === '') return NO_APP
      const read = await readRequest({ clock, secret }, request)
      if (read.type === 'refused') return read.refusal
      if (read.type === 'url_verification') return Response.json({ challenge: read.challenge })
      try {
        if (read.type === 'event') await takeEvent(read.payload)
        if (read.type === 'interaction') await takeInteraction(read.payload)
      } catch (error) {
        if (!(error instanceof SlackSilence || error instanceof SlackRefusal || error instanceof SlackBusy)) throw error
        logger.warn('what Slack sent could not be taken', { error: error.message })
        return SILENT
      }
      return new Response(null, { status: 200 })
    },
  }
}
