import { expect, test } from 'vitest'
import { sharedReader } from '../../../functions/agent/events/coalescing-reader.ts'
import type { LogReader } from '../../../functions/ports/log-reader.ts'

const KEY = { tenant: 't', session: 's' }

/** Creates a log whose reads the test completes. */
function slowLog() {
  const ends: (() => void)[] = []
  const reader = {
    run: () => new Promise<void>((resolve) => void ends.push(resolve)),
    messages: () => new Promise<void>((resolve) => void ends.push(resolve)),
  } as unknown as LogReader
  return { reader, count: () => ends.length, end: () => ends.forEach((end) => end()) }
}

test('concurrent readers of the same item share one read', async () => {
  const { reader, count, end } = slowLog()
  const [one, other] = [sharedReader(reader), sharedReader(reader)]
  const reads = [one.reader.run(KEY, 'r'), other.reader.run(KEY, 'r')]
  expect(count()).toBe(1)
  const others = [one.reader.run(KEY, 'r2'), other.reader.run({ ...KEY, session: 's2' }, 'r')]
  expect(count()).toBe(3)
  end()
  await Promise.all([...reads, ...others])
})

test('a reader that knows of a later change does not share a read that began before that change', async () => {
  const { reader, count, end } = slowLog()
  const [early, emitted] = [sharedReader(reader), sharedReader(reader)]
  const before = early.reader.run(KEY, 'r')
  emitted.begin()
  const after = emitted.reader.run(KEY, 'r')
  expect(count()).toBe(2)
  const late = sharedReader(reader).reader.run(KEY, 'r')
  expect(count()).toBe(3)
  end()
  await Promise.all([before, after, late])
})
