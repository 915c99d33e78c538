import { setImmediate } from 'node:timers/promises'

/** Resolves in the next tick of the event loop, after pending input and output. */
export const yieldToEventLoop = (): Promise<void> => setImmediate()
