import { expect, test } from 'vitest'
import { createRateLimits } from '../../../../functions/channels/slack/api/rate-limits.ts'

const open = () => {
  const time = { now: 1_000_000 }
  return { time, limits: createRateLimits({ now: () => time.now }) }
}

test('a second-tier method accepts 20 calls a minute; the 21st waits until the first has expired', () => {
  const { time, limits } = open()
  for (let call = 0; call < 20; call++) {
    expect(limits.wait('T1', 'chat.startStream')).toBe(0)
    limits.take('T1', 'chat.startStream')
    time.now += 100
  }
  expect(limits.wait('T1', 'chat.startStream')).toBe(58_000)
  time.now += 58_000
  expect(limits.wait('T1', 'chat.startStream')).toBe(0)
})

test('each workspace and method has its own limit', () => {
  const { limits } = open()
  for (let call = 0; call < 20; call++) limits.take('T1', 'chat.startStream')
  expect(limits.wait('T1', 'chat.stopStream')).toBe(0)
  expect(limits.wait('T2', 'chat.startStream')).toBe(0)
})

test('waiting calls are sent one after the other', () => {
  const { limits } = open()
  for (let call = 0; call < 40; call++) limits.take('T1', 'chat.startStream')
  expect(limits.wait('T1', 'chat.startStream')).toBe(120_000)
})

test('a Retry-After applies only to its method, and a later, shorter Retry-After does not shorten the wait', () => {
  const { time, limits } = open()
  limits.pause('T1', 'chat.update', 30_000)
  limits.pause('T1', 'chat.update', 1_000)
  expect(limits.wait('T1', 'chat.update')).toBe(30_000)
  expect(limits.wait('T1', 'chat.appendStream')).toBe(0)
  time.now += 30_000
  expect(limits.wait('T1', 'chat.update')).toBe(0)
})

test.each([1e12, Infinity])('a Retry-After of %s ms is applied for at most an hour', (milliseconds) => {
  const { limits } = open()
  limits.pause('T1', 'chat.update', milliseconds)
  expect(limits.wait('T1', 'chat.update')).toBe(3_600_000)
})
