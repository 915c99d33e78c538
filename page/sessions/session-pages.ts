import type { Session } from '../../functions/client/api-types.ts'

/** Number of sessions on a first page. */
export const PAGE = 50

/** The loaded sessions, most recent activity first. `next`: cursor of the sessions after them. */
export interface Known {
  readonly sessions: readonly Session[]
  readonly next: string | null
}

/**
 * Merges the loaded sessions with the current first page. Loaded sessions that are older than the page stay in the
 * list. If unknown sessions may lie between the page and the loaded sessions, the page replaces the list.
 */
export function withNewest(
  { sessions, next }: Known,
  page: { readonly data: readonly Session[] } & Pick<Known, 'next'>,
): Known {
  // A filter can remove sessions of the page. So the page may have few or no sessions although more follow.
  const last = page.data.at(-1)
  const oldest = last === undefined ? undefined : timeOf(last)
  const hasGap = oldest !== undefined && oldest > timeOf(sessions[0])
  if (page.next === null || hasGap || sessions.length <= page.data.length)
    return { sessions: page.data, next: page.next }
  const newest = new Set(page.data.map(({ id }) => id))
  const rest = sessions.filter(
    (session) => !newest.has(session.id) && (oldest === undefined || timeOf(session) <= oldest),
  )
  return { sessions: [...page.data, ...rest], next }
}

/** Returns the time by which the list is sorted. Sessions without a message come last. */
const timeOf = (session: Session | undefined): string => session?.last_message_at ?? ''
