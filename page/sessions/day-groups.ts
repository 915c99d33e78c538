import type { Session } from '../../functions/client/api-types.ts'

/** Sessions of one day, in the order of the list. */
export interface DayGroup {
  /** Undefined for sessions without a message. */
  readonly name: string | undefined
  readonly sessions: readonly Session[]
}

/** Returns the time of a session's last message; undefined without messages. */
export const timeOf = ({ last_message_at: time }: Session): string | undefined => time ?? undefined

/** Groups consecutive sessions of one day. `dayOf` returns the day of a time. Keeps the order of the sessions. */
export function groupByDay(sessions: readonly Session[], dayOf: (time: string) => string): readonly DayGroup[] {
  const groups: { name: string | undefined; sessions: Session[] }[] = []
  for (const session of sessions) {
    const time = timeOf(session)
    const name = time === undefined ? undefined : dayOf(time)
    const last = groups.at(-1)
    if (last !== undefined && last.name === name) last.sessions.push(session)
    else groups.push({ name, sessions: [session] })
  }
  return groups
}
