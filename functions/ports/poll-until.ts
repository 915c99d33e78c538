import type { Clock } from './clock.ts'

/** Repeats a read until it returns a value. Sleeps between reads. Rejects when the signal aborts or a read fails. */
export async function pollUntil<Value>(
  clock: Pick<Clock, 'sleep'>,
  { everyMs, signal }: { readonly everyMs: number; readonly signal: AbortSignal },
  read: () => Promise<Value | undefined>,
): Promise<Value> {
  for (;;) {
    signal.throwIfAborted()
    const value = await read()
    if (value !== undefined) return value
    await clock.sleep(everyMs, signal)
  }
}
