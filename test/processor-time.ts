import { yieldToEventLoop } from '../functions/domain/time/yield-to-event-loop.ts'

/** Milliseconds that this thread has worked. Other work on the machine hardly changes it, as it does the time of the clock. */
export function processorTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** The milliseconds of processor time that this work of this thread takes. */
export async function processorTimeOf(work: () => unknown): Promise<number> {
  const before = processorTime()
  await work()
  return processorTime() - before
}

/** The milliseconds of processor time that the longest turn of the event loop takes meanwhile: so long does it hold up all else. */
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
