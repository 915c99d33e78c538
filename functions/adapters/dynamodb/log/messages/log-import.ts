import type { LogImport } from '../../../../ports/log-import.ts'
import type { DynamoDependencies } from '../sessions/session-rows.ts'

/** Creates the import of turns that were executed elsewhere, on DynamoDB. */
export function createDynamoLogImport(dependencies: DynamoDependencies): LogImport {
  // Loaded on demand, because few processes import.
  const load = async () => (await import('./import-writes.ts')).createImportWrites(dependencies)
  return {
    progress: async (key, name) => (await load()).progress(key, name),
    append: async (seen, step) => (await load()).append(seen, step),
  }
}
