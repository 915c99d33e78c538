import { readLoopSettings } from '../runtime/settings/config.ts'
import { createWorkerHandler } from '../runtime/lambda/worker.ts'

/** Lambda, triggered by the run queue: serves the sessions that the hints in the queue name. */
export const handler = createWorkerHandler(readLoopSettings())
