import type { Session } from '../../functions/client/api-types.ts'

/** Sessions of a first page. */
export const PAGE = 50

/** The sessions that were used last, down to some point; `next`: what is below it. */
export interface Known {
  readonly sessions: readonly Session[]
  readonly next: string | null
}

/**
 * With the first page as it is now. What was loaded further down stays, also what newer sessions have pushed down there; unless so
 * many are newer that some between are unknown.
 */
export function withNewest(
  { sessions, next }: Known,
  page: { readonly data: readonly Session[] } & Pick<Known, 'next'>,
) {
  const oldest = placeOf(page.data.at(-1))
  const hasGap = page.next !== null && oldest > placeOf(sessions[0])
  if (sessions.length <= PAGE || hasGap) return { sessions: page.data, next: page.next }
  const newest = new Set(page.data.map(({ id }) => id))
  const rest = sessions.filter((session) => !newest.has(session.id) && placeOf(session) <= oldest)
  return { sessions: [...page.data, ...rest], next }
}

/** Those whose title, id or owner has the words. */
export function fitting(sessions: readonly Session[], words: string): readonly Session[] {
  const wanted = words.trim().toLowerCase()
  if (wanted === '') return sessions
  return sessions.filter(({ id, title, owner }) =>
    [id, title ?? '', owner ?? ''].some((text) => text.toLowerCase().includes(wanted)),
  )
}

/** By what the list is sorted: sessions without a message come last. */
const placeOf = (session: Session | undefined): string => session?.last_message_at ?? ''
