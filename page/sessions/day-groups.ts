import type { Session } from '../../functions/client/api-types.ts'

/** Sessions of one day, in the order of the list. */
export interface DayGroup {
  /** Undefined: sessions without a message. */
  readonly name: string | undefined
  readonly sessions: readonly Session[]
}

/** When a session was last used; undefined before its first message. */
export const timeOf = ({ last_message_at: time }: Session): string | undefined => time ?? undefined

/** Groups neighbours of a list by `dayOf` their times, so that the order stays. */
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
