import { readLoopSettings } from '../runtime/config.ts'
import { createWorkerHandler } from '../runtime/lambda/worker.ts'

/** Lambda, from the run queue: executes what hints are about. */
export const handler = createWorkerHandler(readLoopSettings())
