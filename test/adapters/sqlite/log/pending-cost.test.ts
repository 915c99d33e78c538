/* Evidence, limits: Finding the pending deliveries of a long thread reads no other deliveries. */
import { expect, test } from 'vitest'
import { openDatabase, readAll } from '../../../../functions/adapters/sqlite/database.ts'
import { PENDING_DELIVERIES } from '../../../../functions/adapters/sqlite/log/deliveries/delivery-rows.ts'

test('finding the pending deliveries of a session reads no finished delivery', () => {
  const database = openDatabase(':memory:')
  const plan = readAll<{ detail: string }>(
    database,
    `EXPLAIN QUERY PLAN ${PENDING_DELIVERIES}`,
    'tenant',
    'session',
    'after',
    100,
  )
  expect(plan.map(({ detail }) => detail)).toContainEqual(
    expect.stringContaining('deliveries_pending (session=? AND id>?)'),
  )
  database.close()
})
