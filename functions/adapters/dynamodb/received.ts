import { sha256 } from '../../domain/hash.ts'
import { TooltrailError } from '../../domain/errors.ts'
import type { Received } from '../../ports/received.ts'
import { requiredText, toItem } from './attributes.ts'
import { absent, any, below, is } from './expressions.ts'
import { createTable, type TableDependencies } from './table.ts'

/** Returns the key of the item with this name. The name is hashed, because it may contain any character. */
const keyOf = (tenant: string, name: string) => ({
  pk: `W#${tenant}#${sha256(JSON.stringify(name))}`,
  sk: '#RECEIVED',
})

/** Creates the record of received inputs on DynamoDB, which removes the items some time after they expire. */
export function createDynamoReceived(dependencies: TableDependencies): Received {
  const table = createTable(dependencies)
  const { clock } = dependencies
  return {
    async remember(tenant, names, value, until) {
      const fields = { value, until, expires_at: Math.floor(until / 1_000) }
      const refusal = await table.write(
        [...new Set(names)].map((name) => ({
          put: toItem({ ...keyOf(tenant, name), ...fields }),
          when: any(absent('pk'), below('until', clock.now())),
        })),
      )
      if (refusal === undefined) return value
      const known = refusal.find((one) => one?.item !== undefined)?.item
      if (known !== undefined) return requiredText(known, 'value')
      throw new TooltrailError('storage_failed', 'DynamoDB refused a write and did not say why', { retryable: true })
    },
    async forget(tenant, names, value) {
      for (const name of new Set(names)) await table.write([{ remove: keyOf(tenant, name), when: is('value', value) }])
    },
  }
}
