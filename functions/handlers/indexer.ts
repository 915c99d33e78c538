import { readIndexerSettings } from '../runtime/settings/function-settings.ts'
import { createIndexerHandler } from '../runtime/lambda/indexer.ts'

/** Lambda, triggered by the table's stream: keeps the history index up to date, and deletes what has expired. */
export const handler = createIndexerHandler(readIndexerSettings())
