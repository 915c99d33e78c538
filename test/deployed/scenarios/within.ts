import { setTimeout as sleep } from 'node:timers/promises'

const POLL_INTERVAL_MS = 250

/** Looks again and again until there is something; throws when there is nothing in time. Returns what there is. */
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
