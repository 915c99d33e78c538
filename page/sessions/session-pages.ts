import type { Session } from '../../functions/client/api-types.ts'

/** Sessions of a first page. */
export const PAGE = 50

/** The sessions that were used last, down to some point; `next`: what is below it. */
export interface Known {
  readonly sessions: readonly Session[]
  readonly next: string | null
}

/**
 * Returns the known sessions with the first page as it is now. Older sessions that were loaded stay, and so do sessions that newer
 * ones pushed below the page. If so many are newer that sessions between are unknown, the list begins anew.
 */
export function withNewest(
  { sessions, next }: Known,
  page: { readonly data: readonly Session[] } & Pick<Known, 'next'>,
): Known {
  // A filter can leave a page short or empty although more follow.
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

/** The time that sorts the list: sessions without a message come last. */
const timeOf = (session: Session | undefined): string => session?.last_message_at ?? ''
