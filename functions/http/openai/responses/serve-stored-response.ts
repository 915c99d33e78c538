import { findChangeableSession } from '../../../access/sessions.ts'
import type { Caller } from '../../../access/caller.ts'
import { jsonText } from '../../../log/json/well-formed.ts'
import type { RouteDependencies } from '../../dependencies.ts'
import { bytesResponse } from '../../streaming/json-response.ts'
import { findResponse } from './accept-response.ts'
import type { ItemList, ItemQuery } from '../conversations/conversation-schemas.ts'
import { inputPage } from './response-input-items.ts'
import { nameOfDeletion } from './response-name.ts'

/** Responds with a page of the input of a Response. */
export async function serveInputItems(dependencies: RouteDependencies, caller: Caller, id: string, query: ItemQuery) {
  const { builds, reader, shared } = dependencies
  const shown = await findResponse(dependencies, caller, id)
  const page = await builds.build(caller.tenant, jsonText(['input', id, query]), async () =>
    Buffer.from(jsonText(await inputPage(reader, shown, query))),
  )
  return bytesResponse<ItemList>(shared.of(caller.tenant), page)
}

/**
 * Hides a Response for good. Its run is not cancelled, and the log keeps its messages. A separate name marks it as
 * deleted, because a repeated request stores the name of the Response again.
 */
export async function deleteResponse(dependencies: RouteDependencies, caller: Caller, id: string) {
  const { key } = await findResponse(dependencies, caller, id)
  await findChangeableSession(dependencies, caller, key.session)
  await dependencies.names.give(key, nameOfDeletion(id), {})
  return { id, object: 'response.deleted' as const, deleted: true as const }
}
