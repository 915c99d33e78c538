import type { Session } from '../../functions/client/api-types.ts'

/** Number of sessions on a first page. */
export const PAGE = 50

/** The known sessions, most recently used first. `next`: cursor of the sessions after them. */
export interface Known {
  readonly sessions: readonly Session[]
  readonly next: string | null
}

/**
 * Merges the known sessions with the current first page. Older sessions that were loaded are kept, and so are those
 * that newer ones pushed off the page. If sessions between are unknown because too many are newer, the list restarts.
 */
export function withNewest(
  { sessions, next }: Known,
  page: { readonly data: readonly Session[] } & Pick<Known, 'next'>,
): Known {
  // A filter can leave a page short or empty although more sessions follow.
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

/** Returns the time that sorts the list. Sessions without a message come last. */
const timeOf = (session: Session | undefined): string => session?.last_message_at ?? ''
