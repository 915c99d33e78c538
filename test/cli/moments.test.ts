import { describe, expect, test } from 'vitest'
import { readMoment } from '../../functions/cli/moments.ts'

/** A local time, as the reader's clock shows it. */
const NOW = new Date(2026, 10, 27, 15, 30)
const local = (day: number, ms = 0): string => new Date(new Date(2026, 10, day).getTime() + ms).toISOString()

describe('a start or end time on the command line', () => {
  test.each([
    ['today', local(27), local(28, -1)],
    ['yesterday', local(26), local(27, -1)],
  ])('%s is the start or end of a local day', (text, since, until) => {
    expect([readMoment(text, NOW, 0), readMoment(text, NOW, 1)]).toEqual([since, until])
  })

  test.each([
    ['7d', 7 * 24],
    ['12h', 12],
    ['2w', 14 * 24],
    ['0h', 0],
  ])('%s is the moment that long before now', (text, hours) => {
    const time = new Date(NOW.getTime() - hours * 3_600_000).toISOString()
    expect([readMoment(text, NOW, 0), readMoment(text, NOW, 1)]).toEqual([time, time])
  })

  test.each([
    ['2026-11-22', '2026-11-22'],
    ['2026-11-22T09:30', '2026-11-22T09:30:00.000Z'],
    ['2026-11-22T09:30:00Z', '2026-11-22T09:30:00.000Z'],
    ['2026-11-22T09:30:00.5+02:00', '2026-11-22T07:30:00.500Z'],
  ])('%s is read as %s', (text, time) => {
    expect([readMoment(text, NOW, 0), readMoment(text, NOW, 1)]).toEqual([time, time])
  })

  test.each([
    'soon',
    '',
    '7',
    '7m',
    '-7d',
    '2026-02-30',
    '2026-13-01',
    '2026-11-22T25:00Z',
    '22.11.2026',
    'Yesterday ',
  ])('%j is rejected, and the error lists the accepted forms', (text) =>
    expect(() => readMoment(text, NOW, 0)).toThrow(/yesterday, or a span such as 7d/),
  )
})
