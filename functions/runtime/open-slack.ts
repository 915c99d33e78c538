import type { AcceptMessageDependencies } from '../channels/slack/accept-message.ts'
import type { SlackSettings } from '../channels/slack/settings.ts'
import type { TakeEventDependencies } from '../channels/slack/take-event.ts'
import type { SlackResponse } from '../http/dependencies.ts'
import type { Clock } from '../ports/clock.ts'
import { withSecrets } from './named-secrets.ts'

export interface SlackOptions {
  readonly settings: SlackSettings
  /** Where Slack's Web API is. */
  readonly apiUrl: string
  readonly allowedHosts: readonly string[]
  /** The secrets that settings name, as they are now. */
  secrets(): Promise<(name: string) => string | undefined>
}

type Dependencies = Omit<TakeEventDependencies, 'api' | 'downloads' | 'settings' | 'workspaces'> &
  Pick<AcceptMessageDependencies, 'here'> & { readonly clock: Clock }

/** What handles Slack's requests. It is loaded with the first of them: most processes never get one. */
export function openSlack(
  options: SlackOptions,
  dependencies: Dependencies,
): (request: Request) => Promise<SlackResponse | undefined> {
  let opening: ReturnType<typeof open> | undefined
  const open = async () => {
    const { createSlackReceiver } = await import('../channels/slack/receiver.ts')
    const { settings, apiUrl, allowedHosts } = options
    return createSlackReceiver({
      ...dependencies,
      settings,
      apiUrl,
      allowedHosts,
      secret: async (name) => (await options.secrets())(name),
      filled: async (text) => withSecrets(text, await options.secrets()),
    })
  }
  return async (request) => (await (opening ??= open())).receive(request)
}
