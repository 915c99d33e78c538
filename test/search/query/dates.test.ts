import { describe, expect, test } from 'vitest'
import { parseQuery } from '../../../functions/search/query/query.ts'
import { understoodOf } from '../../../functions/search/understood.ts'

const NOW = Date.UTC(2026, 10, 29, 12)
const asked = { now: NOW, timeZone: 'UTC' }

/** Returns the first and the last day of the period that a query names. */
function period(text: string, timeZone = 'UTC'): string | undefined {
  const read = parseQuery(text, undefined, { now: NOW, timeZone }).period
  const day = (time: number | undefined): string =>
    time === undefined ? '' : new Date(time).toLocaleDateString('sv-SE', { timeZone })
  return read && `${day(read.since)}..${day(read.until)}`
}

describe('a date in a query', () => {
  test.each([
    ['2026-11-26', '2026-11-26..2026-11-26'],
    ['2026-11-26T10:00:00Z', '2026-11-26..2026-11-26'],
    ['26 November', '2026-11-26..2026-11-26'],
    ['Nov 26', '2026-11-26..2026-11-26'],
    ['the 26th of November', '2026-11-26..2026-11-26'],
    ['November twenty-sixth', '2026-11-26..2026-11-26'],
    ['26.11.', '2026-11-26..2026-11-26'],
    ['26.11.2025', '2025-11-26..2025-11-26'],
    ['11/26/2026', '2026-11-26..2026-11-26'],
    ['26. März 2025', '2025-03-26..2025-03-26'],
    ['2026年11月26日', '2026-11-26..2026-11-26'],
    ['24 December', '2025-12-24..2025-12-24'],
    ['29 February', '2024-02-29..2024-02-29'],
    ['in March', '2026-03-01..2026-03-31'],
    ['February 2001', '2001-02-01..2001-02-28'],
    ['during 2025', '2025-01-01..2025-12-31'],
    ['today', '2026-11-29..2026-11-29'],
    ['yesterday', '2026-11-28..2026-11-28'],
    ['last week', '2026-11-16..2026-11-22'],
    ['this month', '2026-11-01..2026-11-30'],
    ['three days ago', '2026-11-26..2026-11-26'],
    ['last Friday', '2026-11-27..2026-11-27'],
    ['in the last 2 weeks', '2026-11-15..2026-11-29'],
    ['since 3 May', '2026-05-03..'],
    ['before 2025', '..2024-12-31'],
    ['between 3 March and 10 March 2025', '2025-03-03..2025-03-10'],
  ])('%s is the period %s', (text, wanted) => {
    expect(period(`green boat ${text}`)).toBe(wanted)
  })

  test.each([
    'may I see the march of the penguins',
    'logs/2026-11-26.txt',
    'report-2026-11-26',
    '"26 November"',
    'version 2.11. of the tool',
    '11/10/2026',
    '192.168.2.11',
    'chapter 3.4.',
  ])('%s names no time', (text) => {
    expect(period(text)).toBeUndefined()
  })

  test('is a day in the zone of the caller', () => {
    const read = parseQuery('27 November', undefined, { now: NOW, timeZone: 'Europe/Helsinki' }).period
    expect(read?.since).toBe(Date.UTC(2026, 10, 26, 22))
    // Clocks changed in the night of 29 March 2026.
    const march = parseQuery('29 March', undefined, { now: NOW, timeZone: 'Europe/Berlin' }).period
    expect((march?.until ?? 0) - (march?.since ?? 0)).toBe(23 * 3_600_000 - 1)
  })

  test('is not listed among the searched terms', () => {
    const text = 'what about the green boat of 26 November'
    const since = Date.UTC(2026, 10, 26)
    expect(understoodOf({ text, filters: {}, asked })).toEqual({
      since,
      until: since + 86_400_000 - 1,
      terms: ['green', 'boat'],
    })
    expect(understoodOf({ text, filters: {} }).terms).toEqual(['green', 'boat', '26', 'november'])
  })

  test('is read in bounded time, whatever the query is', () => {
    const start = performance.now()
    for (const word of ['26.11. ', 'a ', 'november ', '2026-', '1/1/', 'last week '])
      parseQuery(word.repeat(10_000), undefined, asked)
    expect(performance.now() - start).toBeLessThan(2_000)
  })
})
