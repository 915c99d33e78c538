import { TooltrailError } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { SessionNames } from '../../ports/session-names.ts'
import { numberAt, requiredText, toItem } from './attributes.ts'
import { headerKey, nameKey, hashName, nameRowKey } from './keys.ts'
import { isLive, live } from './log/sessions/header-item.ts'
import { createTable, type TableDependencies } from './table.ts'

/**
 * Creates the store of session names on DynamoDB. Each name is stored twice: as an item of its own, and as a row of its
 * session. A deletion of the session finds its names by these rows (`log/sessions/deletion/deletion-writes.ts`).
 * If a name has a time limit, DynamoDB removes the name some time after that limit.
 */
export function createDynamoSessionNames(dependencies: TableDependencies): SessionNames {
  const table = createTable(dependencies)
  const { clock } = dependencies
  return {
    async give(key, name, about, until) {
      const nameHash = hashName(name)
      const expires = until === undefined ? undefined : Math.floor(until / 1_000)
      const fields = { session: key.session, about: JSON.stringify(about), until, expires_at: expires }
      const refusal = await table.write([
        { check: headerKey(key), when: live },
        { put: toItem({ ...nameKey(key.tenant, nameHash), ...fields }) },
        { put: toItem({ ...nameRowKey(key, nameHash), expires_at: expires }) },
      ])
      if (refusal !== undefined) throw new TooltrailError('session_not_found', `there is no session ${key.session}`)
    },
    async find(tenant, name) {
      const item = await table.read(nameKey(tenant, hashName(name)))
      if (item === undefined || (numberAt(item, 'until') ?? Infinity) < clock.now()) return undefined
      const session = requiredText(item, 'session')
      const header = await table.read(headerKey({ tenant, session }))
      return isLive(header) ? { session, about: JSON.parse(requiredText(item, 'about')) as JsonObject } : undefined
    },
  }
}
