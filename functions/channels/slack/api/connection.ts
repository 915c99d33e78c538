import { createSlackDownloads, createSlackUpload } from './file-transfer.ts'
import type { SlackDownloads } from './file-transfer.ts'
import type { SlackSettings } from '../settings.ts'
import { createSlackApi } from './web-api.ts'
import type { SlackApi, SlackApiDependencies } from './web-api.ts'
import { createWorkspaces } from '../workspaces.ts'
import type { Workspaces } from '../workspaces.ts'

/** The Slack state that a process shares: the counts for rate limits, and the known workspaces. */
export interface SlackConnection {
  readonly api: SlackApi
  readonly downloads: SlackDownloads
  readonly upload: (url: string, text: string) => Promise<void>
  readonly workspaces: Workspaces
}

interface Dependencies extends SlackApiDependencies {
  readonly settings: SlackSettings
  secret(name: string): Promise<string | undefined>
  /** Replaces the secret names in a setting with the secrets. */
  filled(text: string): Promise<string>
}

export function connectSlack(dependencies: Dependencies): SlackConnection {
  const { settings, filled, secret } = dependencies
  const api = createSlackApi(dependencies)
  return {
    api,
    downloads: createSlackDownloads(dependencies),
    upload: createSlackUpload(dependencies),
    workspaces: createWorkspaces({ api, settings, filled, botToken: () => secret('SLACK_BOT_TOKEN') }),
  }
}
