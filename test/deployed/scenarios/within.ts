import { setTimeout as sleep } from 'node:timers/promises'

const POLL_INTERVAL_MS = 250

/** Polls until there is a value, and returns it. Throws after the time limit. */
export async function within<Value>(
  milliseconds: number,
  what: string,
  look: () => Promise<Value | undefined | false>,
): Promise<Value> {
  const deadline = Date.now() + milliseconds
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > deadline) throw new Error(`${what}: not within ${milliseconds} ms`)
    await sleep(POLL_INTERVAL_MS)
  }
}
