import { readLoopSettings } from '../runtime/settings/config.ts'
import { createApiHandler } from '../runtime/lambda/api.ts'

/** Lambda, behind the REST API: handles requests, and executes the runs whose callers wait or listen. */
export const handler = createApiHandler(readLoopSettings())
