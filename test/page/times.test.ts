import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Session } from '../../functions/client/api-types.ts'
import { groupByDay } from '../../page/sessions/day-groups.ts'
import { createTimes } from '../../page/text/times.ts'

const zone = process.env['TZ']
beforeAll(() => {
  process.env['TZ'] = 'Europe/Berlin'
})
afterAll(() => {
  if (zone === undefined) delete process.env['TZ']
  else process.env['TZ'] = zone
})

/** In Berlin, it is Monday, 40 minutes after midnight. In UTC, it is Sunday. */
const NOW = new Date('2026-03-29T22:40:00.000Z')
const at = (locale: string) => createTimes(locale, () => NOW)

test.each([
  ['2026-03-29T22:10:00.000Z', 'Today', 'Heute'],
  // Sunday has 23 hours, because summer time starts.
  ['2026-03-28T23:10:00.000Z', 'Yesterday', 'Gestern'],
  ['2026-03-28T22:50:00.000Z', 'Saturday, March 28', 'Samstag, 28. März'],
  ['2025-12-31T12:00:00.000Z', 'December 31, 2025', '31. Dezember 2025'],
  ['2026-03-30T22:10:00.000Z', 'Tuesday, March 31', 'Dienstag, 31. März'],
])('the day of %s has a name in each locale', (time, english, german) => {
  expect([at('en-US').day(time), at('de-DE').day(time)]).toEqual([english, german])
})

test('the short form of a timestamp is its time of day if it is today, otherwise its date', () => {
  const times = ['2026-03-29T22:10:00.000Z', '2026-03-28T22:50:00.000Z', '2025-12-31T12:00:00.000Z']
  expect(times.map(at('de-DE').timeOrDate)).toEqual(['00:10', '28. März', '31. Dez. 2025'])
  expect(at('en-GB').whole('2026-03-28T22:50:00.000Z')).toBe('28 Mar 2026, 23:50')
})

test('a UTC day stays the same day in every time zone', () => {
  expect([at('de-DE').utcDay('2026-03-29'), at('en-US').shortUtcDay('2026-03-29')]).toEqual(['29.03.2026', 'Mar 29'])
})

test('sessions are grouped by day in the order of the list', () => {
  const session = (id: string, last_message_at: string): Session => ({ id, last_message_at }) as Session
  const groups = groupByDay(
    [session('a', '2026-03-29'), session('b', '2026-03-29'), session('c', '2026-03-28'), session('d', '2026-03-29')],
    (time) => time,
  )
  expect(groups.map(({ name, sessions }) => [name, ...sessions.map(({ id }) => id)])).toEqual([
    ['2026-03-29', 'a', 'b'],
    ['2026-03-28', 'c'],
    ['2026-03-29', 'd'],
  ])
})
