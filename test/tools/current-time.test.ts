import { expect, test } from 'vitest'
import { currentTime } from '../../functions/tools/current-time.ts'
import { toolContext } from './tool-context.ts'

const report = async (input: { timezone?: string }, now = Date.UTC(2026, 10, 22, 0, 48, 20, 5)): Promise<string> =>
  (await currentTime.execute(input, toolContext({ now: () => now }))).text

test('the result without a time zone is ISO 8601 in UTC', async () => {
  expect(await report({})).toBe('2026-11-22T00:48:20.005Z')
})

test.each([
  ['Europe/Berlin', '2026-11-22T01:48:20+01:00 Europe/Berlin (Sunday)'],
  ['America/Los_Angeles', '2026-11-21T16:48:20-08:00 America/Los_Angeles (Saturday)'],
  ['Asia/Kathmandu', '2026-11-22T06:33:20+05:45 Asia/Kathmandu (Sunday)'],
  ['UTC', '2026-11-22T00:48:20+00:00 UTC (Sunday)'],
])('%s is returned together with UTC', async (timezone, expected) => {
  expect(await report({ timezone })).toBe(`2026-11-22T00:48:20.005Z\n${expected}`)
})

test('midnight is 00, not 24, and daylight saving time is applied', async () => {
  expect(await report({ timezone: 'Europe/Berlin' }, Date.UTC(2026, 6, 1, 22))).toContain('2026-07-02T00:00:00+02:00')
})

test.each(['Mars/Olympus', '', '../etc'])(
  'an unknown time zone is an error that gives an example: %j',
  async (timezone) => {
    await expect(report({ timezone })).rejects.toThrow(/is not an IANA time zone, such as Europe\/Berlin/)
  },
)
