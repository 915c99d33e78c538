import { createSlackDownloads, createSlackUpload } from './file-transfer.ts'
import type { SlackDownloads } from './file-transfer.ts'
import type { SlackSettings } from '../settings.ts'
import { createSlackApi } from './web-api.ts'
import type { SlackApi, SlackApiDependencies } from './web-api.ts'
import { createWorkspaces } from '../workspaces.ts'
import type { Workspaces } from '../workspaces.ts'

/** What a process shares of Slack: one count of its calls, and what it knows of the workspaces. */
export interface SlackConnection {
  readonly api: SlackApi
  readonly downloads: SlackDownloads
  readonly upload: (url: string, text: string) => Promise<void>
  readonly workspaces: Workspaces
}

interface Dependencies extends SlackApiDependencies {
  readonly settings: SlackSettings
  secret(name: string): Promise<string | undefined>
  /** The text of a setting with its secrets in place. */
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
