import type { SessionKey } from '../../../domain/session.ts'

/**
 * A thread of a workspace. Each thread has one session. A direct message, or a mention outside of a thread, starts a
 * thread named by its own `ts`.
 */
export interface Thread {
  readonly team: string
  readonly channel: string
  readonly thread: string
}

export const sessionOf = (tenant: string, { team, channel, thread }: Thread): SessionKey => ({
  tenant,
  session: `slack-${team}-${channel}-${thread}`,
})

export const ownerOf = ({ team, channel }: Thread): string => `slack-${team}-${channel}`

export const userOf = ({ team }: Pick<Thread, 'team'>, user: string): string => `slack-${team}-${user}`
