import { readLoopSettings } from '../runtime/settings/config.ts'
import { createWorkerHandler } from '../runtime/lambda/worker.ts'

/** Lambda, from the run queue: serves the sessions that hints name. */
export const handler = createWorkerHandler(readLoopSettings())
