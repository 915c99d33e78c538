import { expect, test } from 'vitest'
import type { Session } from '../../functions/client/api-types.ts'
import { PAGE, withNewest } from '../../page/sessions/session-pages.ts'

/** Sessions that were last used one second apart, newest first. */
const used = (from: number, to: number): Session[] =>
  Array.from({ length: from - to + 1 }, (_, at) => session(from - at, from - at))
const session = (name: number, second: number): Session =>
  ({ id: `s${name}`, title: `Title ${name}`, last_message_at: new Date(second * 1_000).toISOString() }) as Session

const ids = (sessions: readonly Session[]): string[] => sessions.map(({ id }) => id)

test('newer sessions are added before the loaded ones, and no session is lost', () => {
  const known = { sessions: used(150, 1), next: 'below' }
  const after = withNewest(known, { data: used(180, 131), next: 'first' })
  expect(ids(after.sessions)).toEqual(ids(used(180, 1)))
  expect(after.next).toBe('below')
})

test('the list restarts if one page cannot hold all newer sessions, so that none is missing', () => {
  const known = { sessions: used(150, 1), next: 'below' }
  // One loaded session has been used again since the list was loaded.
  const data = [session(7, 240), ...used(239, 240 - PAGE + 1)]
  expect(withNewest(known, { data, next: 'first' })).toEqual({ sessions: data, next: 'first' })
})

test('loaded sessions older than a short newest page are kept, unless that page is the whole list', () => {
  const known = { sessions: [session(90, 90), session(40, 40), session(10, 10)], next: 'below' }
  const after = withNewest(known, { data: [session(95, 95), session(90, 90)], next: 'first' })
  expect([ids(after.sessions), after.next]).toEqual([['s95', 's90', 's40', 's10'], 'below'])
  expect(withNewest(known, { data: [], next: 'first' })).toEqual(known)
  expect(withNewest(known, { data: [session(40, 40)], next: null }).sessions).toHaveLength(1)
})
