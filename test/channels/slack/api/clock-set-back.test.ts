/* If a clock is set back by an hour (NTP, a resumed machine), calls to Slack are not delayed by that hour. */
import { expect, test } from 'vitest'
import { createRateLimits } from '../../../../functions/channels/slack/api/rate-limits.ts'

function expectShortWait(_how: string, back: number): void {
  let now = 1_800_000_000_000
  const limits = createRateLimits({ now: () => now })
  for (let call = 0; call < 20; call++) limits.take('T1', 'chat.startStream')
  now -= back
  expect(limits.wait('T1', 'chat.startStream')).toBeLessThanOrEqual(60_000)
}

test.each([
  ['that continues', 0],
  ['that is set back by an hour', 3_600_000],
] as const)('the 21st call waits at most a minute in a process with a clock %s', expectShortWait)
