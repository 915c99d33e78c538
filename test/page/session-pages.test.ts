import { expect, test } from 'vitest'
import type { Session } from '../../functions/client/api-types.ts'
import { fitting, PAGE, withNewest } from '../../page/sessions/session-pages.ts'

/** Sessions used one second after the other, from the newest down. */
const used = (from: number, to: number): Session[] =>
  Array.from({ length: from - to + 1 }, (_, at) => session(from - at, from - at))
const session = (name: number, second: number): Session =>
  ({ id: `s${name}`, title: `Title ${name}`, last_message_at: new Date(second * 1_000).toISOString() }) as Session

const ids = (sessions: readonly Session[]): string[] => sessions.map(({ id }) => id)

test('newer sessions push down what is known, and nothing is lost', () => {
  const known = { sessions: used(150, 1), next: 'below' }
  const after = withNewest(known, { data: used(180, 131), next: 'first' })
  expect(ids(after.sessions)).toEqual(ids(used(180, 1)))
  expect(after.next).toBe('below')
})

test('with more newer ones than a page has, the list begins anew: none between is left out', () => {
  const known = { sessions: used(150, 1), next: 'below' }
  // One of those that are known was used again, too.
  const data = [session(7, 240), ...used(239, 240 - PAGE + 1)]
  expect(withNewest(known, { data, next: 'first' })).toEqual({ sessions: data, next: 'first' })
})

test('words are looked for in titles, ids and owners', () => {
  expect(ids(fitting(used(12, 1), ' TITLE 1'))).toEqual(['s12', 's11', 's10', 's1'])
  expect(fitting(used(12, 1), ' ')).toHaveLength(12)
})
