import { yieldToEventLoop } from '../functions/domain/time/yield-to-event-loop.ts'

/**
 * Returns the processor time that this thread has used, in milliseconds. Other work on the machine hardly affects it, in contrast
 * to clock time.
 */
export function processorTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Executes `work` and returns the processor time that this thread used until `work` ended, in milliseconds. */
export async function processorTimeOf(work: () => unknown): Promise<number> {
  const before = processorTime()
  await work()
  return processorTime() - before
}

/**
 * Executes `work` and returns the processor time of the longest tick of the event loop, in milliseconds. Such a tick delays all
 * other work of the thread.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let [last, longest, isOver] = [processorTime(), 0, false]
  const note = (): void => {
    const now = processorTime()
    longest = Math.max(longest, now - last)
    last = now
  }
  const watching = (async () => {
    for (; !isOver; await yieldToEventLoop()) note()
  })()
  try {
    await work()
  } finally {
    isOver = true
    note()
    await watching
  }
  return longest
}
