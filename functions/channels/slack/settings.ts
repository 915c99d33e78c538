/** The section `slack` of `agents.json`. */
export interface SlackSettings {
  readonly tenant: string
  readonly agent: string
  /** Whether messages of a known thread are inputs even if they do not mention the bot. */
  readonly followUps: boolean
  readonly allow: { readonly channels?: readonly string[]; readonly users?: readonly string[] }
  /** People who may decide on approvals, besides the author of the message. */
  readonly approvers: readonly string[]
  readonly channels: { readonly [channel: string]: { readonly agent: string } }
  /** Workspaces besides that of the bot token, by team id. `token` is the name of a secret. */
  readonly workspaces: { readonly [team: string]: SlackWorkspace }
  readonly suggestedPrompts: readonly { readonly title: string; readonly message: string }[]
}

export interface SlackWorkspace {
  readonly tenant?: string
  readonly agent?: string
  /** The token, with `${secret:NAME}` as a placeholder. */
  readonly token: string
}

/** Used if `agents.json` has no `slack`. */
export const DEFAULT_SLACK: SlackSettings = {
  tenant: 'default',
  agent: 'default',
  followUps: true,
  allow: {},
  approvers: [],
  channels: {},
  workspaces: {},
  suggestedPrompts: [],
}

/** Whether both lists, if they are set, contain the channel and the user. */
export function isAllowed({ allow }: SlackSettings, channel: string, user: string): boolean {
  return (allow.channels?.includes(channel) ?? true) && (allow.users?.includes(user) ?? true)
}
