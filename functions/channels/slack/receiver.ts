import type { Clock } from '../../ports/clock.ts'
import { createSlackDownloads } from './file-transfer.ts'
import { readRequest } from './requests.ts'
import { SlackBusy, SlackRefusal, SlackSilence } from './slack-error.ts'
import { createEventTaker } from './take-event.ts'
import type { TakeEventDependencies } from './take-event.ts'
import { createSlackApi } from './web-api.ts'
import { createWorkspaces } from './workspaces.ts'

export interface ReceiverDependencies extends Omit<TakeEventDependencies, 'api' | 'downloads' | 'workspaces'> {
  readonly clock: Clock
  readonly apiUrl: string
  readonly allowedHosts: readonly string[]
  secret(name: string): Promise<string | undefined>
  /** The text of a setting with its secrets in place. */
  filled(text: string): Promise<string>
}

/** What to answer Slack; it delivers again what got no 200. */
type Received =
  | { readonly status: 200; readonly body?: { readonly challenge: string } }
  | { readonly status: 400 | 401 | 503; readonly reason: string }

export interface SlackReceiver {
  /** Handles one request once what it asks for is durable; undefined while there is no signing secret. */
  receive(request: Request): Promise<Received | undefined>
}

/** What Slack sends, from the signature to the accepted run. */
export function createSlackReceiver(dependencies: ReceiverDependencies): SlackReceiver {
  const { clock, logger, settings, secret, filled } = dependencies
  const api = createSlackApi(dependencies)
  const workspaces = createWorkspaces({ api, settings, filled, botToken: () => secret('SLACK_BOT_TOKEN') })
  const takeEvent = createEventTaker({
    ...dependencies,
    api,
    workspaces,
    downloads: createSlackDownloads(dependencies),
  })
  return {
    async receive(request) {
      const signing = await secret('SLACK_SIGNING_SECRET')
      // An empty one would let in whoever signs with nothing.
      if (signing === undefined || signing === '') return undefined
      const read = await readRequest({ clock, secret: signing }, request)
      try {
        switch (read.type) {
          case 'refused':
            return { status: read.status, reason: read.reason }
          case 'url_verification':
            return { status: 200, body: { challenge: read.challenge } }
          case 'event':
            await takeEvent(read.payload)
            return { status: 200 }
          case 'interaction':
          case 'other':
            return { status: 200 }
          default:
            return read satisfies never
        }
      } catch (error) {
        if (!(error instanceof SlackSilence || error instanceof SlackRefusal || error instanceof SlackBusy)) throw error
        logger.warn('an event could not be accepted: Slack delivers it again', { error: error.message })
        return { status: 503, reason: 'Slack itself could not be asked who the bot is' }
      }
    },
  }
}
