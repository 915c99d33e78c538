import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Milliseconds after which an operation counts as hung. The limit is long, because a busy machine may be slow. No promise
 * refers to this limit.
 */
export const HANG_TIMEOUT_MS = 180_000

/**
 * Number of retries of a test for a promised time. The promise is for an idle machine, and other work may slow down an attempt.
 */
export const PROMISED_TIME_RETRIES = 4

/** Returns the result of `check` as soon as it does not throw. Retries every `every` milliseconds. */
export async function eventually<Value>(check: () => Value | Promise<Value>, every = 20): Promise<Value> {
  const deadline = performance.now() + HANG_TIMEOUT_MS
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() >= deadline) throw error
    }
    await sleep(every)
  }
}

/** Waits until the condition holds. Polls every `every` milliseconds. */
export function until(isSo: () => boolean | Promise<boolean>, every = 5): Promise<void> {
  return eventually(async () => {
    if (!(await isSo())) throw new Error(`it did not come about within ${HANG_TIMEOUT_MS} ms: ${isSo.toString()}`)
  }, every)
}
