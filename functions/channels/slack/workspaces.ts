import type { SlackSettings } from './settings.ts'
import type { SlackApi } from './api/web-api.ts'

/** A workspace in which the bot is installed. */
export interface Workspace {
  readonly team: string
  readonly tenant: string
  readonly agent: string
  readonly token: string
  /** The bot's own user id. */
  readonly bot: string
  /** The id of our app, as it appears in the app's messages. */
  readonly botId?: string
}

type Own = Pick<Workspace, 'team' | 'bot' | 'botId'>

export interface Workspaces {
  /** Finds a workspace; undefined if it is not configured. Rejects if Slack does not respond. */
  find(team: string): Promise<Workspace | undefined>
}

export interface WorkspaceDependencies {
  readonly api: Pick<SlackApi, 'call'>
  readonly settings: SlackSettings
  /** The bot's token. The id of its workspace is read from Slack. */
  readonly botToken: () => Promise<string | undefined>
  /** Replaces the secret name in a token of `workspaces`. */
  readonly filled: (token: string) => Promise<string>
}

/** Creates the lookup of workspaces: those of the settings, and that of the bot's token. Slack is asked once for each token. */
export function createWorkspaces({ api, settings, botToken, filled }: WorkspaceDependencies): Workspaces {
  const asked = new Map<string, Promise<Own>>()

  async function who(token: string): Promise<Own> {
    const known = asked.get(token) ?? ask(token)
    asked.set(token, known)
    try {
      return await known
    } catch (error) {
      asked.delete(token)
      throw error
    }
  }

  async function ask(token: string): Promise<Own> {
    const answer = await api.call({ token, method: 'auth.test', args: {}, team: '' })
    const { team_id: team, user_id: bot, bot_id: botId } = answer
    if (typeof team !== 'string' || typeof bot !== 'string') throw new Error('auth.test named no workspace or no user')
    return { team, bot, ...(typeof botId === 'string' ? { botId } : {}) }
  }

  return {
    async find(team) {
      const named = Object.hasOwn(settings.workspaces, team) ? settings.workspaces[team] : undefined
      const { tenant, agent } = settings
      if (named !== undefined) {
        const token = await filled(named.token)
        const own = await who(token)
        return { ...own, team, tenant: named.tenant ?? tenant, agent: named.agent ?? agent, token }
      }
      const token = await botToken()
      if (token === undefined) return undefined
      const own = await who(token)
      return own.team === team ? { ...own, tenant, agent, token } : undefined
    },
  }
}
