import { readLoopSettings } from '../runtime/config.ts'
import { createWorkerHandler } from '../runtime/lambda/worker.ts'

/** Lambda, from the run queue: serves the sessions that hints name. */
export const handler = createWorkerHandler(readLoopSettings())
