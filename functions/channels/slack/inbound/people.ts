import { createRecent } from '../../../domain/cache/lru-cache.ts'
import type { Logger } from '../../../ports/logger.ts'
import { SlackRefusal } from '../api/slack-error.ts'
import type { SlackApi } from '../api/web-api.ts'
import type { Workspace } from '../workspaces.ts'

/** Users kept in memory. */
const MAX_USERS = 10_000

export interface People {
  /** Whether a user is a person. False if Slack rejects the request. Rejects if Slack does not respond. */
  isPerson(workspace: Workspace, user: string): Promise<boolean>
}

/**
 * Distinguishes people from bots. A message posted by a person's own client looks like a bot's, because Slack sets `bot_id` in
 * the messages of both. Two bots that reply to each other would never stop, so an unknown author counts as a bot.
 */
export function createPeople({
  api,
  logger,
}: {
  readonly api: Pick<SlackApi, 'call'>
  readonly logger: Logger
}): People {
  const known = createRecent<boolean>(MAX_USERS)
  return {
    async isPerson({ token, team }, user) {
      const name = `${team} ${user}`
      const remembered = known.get(name)
      if (remembered !== undefined) return remembered
      try {
        const answer = await api.call({ token, team, method: 'users.info', args: { user } })
        const { user: found } = answer as { readonly user?: { readonly is_bot?: unknown } }
        const isPerson = found?.is_bot === false
        known.set(name, isPerson, 1)
        return isPerson
      } catch (error) {
        if (!(error instanceof SlackRefusal)) throw error
        logger.warn('a message of an app was ignored: Slack does not say whether its user is a person', {
          user,
          error: `${error.message}; the bot needs the scope users:read`,
        })
        return false
      }
    },
  }
}
