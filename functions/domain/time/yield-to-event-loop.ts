import { setImmediate } from 'node:timers/promises'

/** Resolves in the next tick of the event loop, after input and output that is ready. */
export const yieldToEventLoop = (): Promise<void> => setImmediate()
