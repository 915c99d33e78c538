import type { SessionDeletion } from '../../../../../ports/session-deletion.ts'
import type { DynamoDependencies } from '../session-rows.ts'

/** Creates the stepwise deletion of sessions on DynamoDB. */
export function createDynamoSessionDeletion(dependencies: DynamoDependencies): SessionDeletion {
  // Loaded on demand, because few processes delete.
  const load = async () => (await import('./deletion-writes.ts')).createDeletionWrites(dependencies)
  return {
    tombstone: async (key, options) => (await load()).tombstone(key, options),
    removeRows: async (key, limit) => (await load()).removeRows(key, limit),
    markRemoved: async (key, outputs) => (await load()).markRemoved(key, outputs),
    finish: async (key) => (await load()).finish(key),
    state: async (key, owner) => (await load()).state(key, owner),
  }
}
