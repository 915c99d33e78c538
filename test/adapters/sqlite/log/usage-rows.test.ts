/* Evidence, limits: A sum of usage by session or owner reads at most 10,000 rows, and is refused beyond that. */
import { expect, test } from 'vitest'
import { openDatabase } from '../../../../functions/adapters/sqlite/database.ts'
import { createSqliteUsageLedger } from '../../../../functions/adapters/sqlite/log/usage/usage-ledger.ts'
import { MAX_USAGE_ROWS } from '../../../../functions/ports/usage-ledger.ts'

const DAY = '2026-11-22'
const query = { tenant: 't', from: DAY, to: DAY } as const

test('sums by session or owner accept 10,000 rows and refuse one more; other sums are unaffected', async () => {
  const database = openDatabase(':memory:')
  const usage = createSqliteUsageLedger({ database })
  const add = (first: number, count: number): void => {
    database.exec(`INSERT INTO usage_of_sessions (tenant, day, owner, session, agent, model, completions, totalTokens)
      WITH RECURSIVE n(at) AS (SELECT ${first} UNION ALL SELECT at + 1 FROM n WHERE at + 1 < ${first + count})
      SELECT 't', '${DAY}', 'ann', 's' || at, 'default', 'demo/demo', 1, 10 FROM n`)
  }
  add(0, MAX_USAGE_ROWS)
  expect(await usage.sums({ ...query, by: 'session' })).toHaveLength(MAX_USAGE_ROWS)
  expect(await usage.sums({ ...query, by: 'owner' })).toMatchObject([{ group: 'ann', completions: MAX_USAGE_ROWS }])
  add(MAX_USAGE_ROWS, 1)
  const refused = { code: 'invalid_query', message: expect.stringContaining('more than 10000 sessions') as string }
  for (const by of ['session', 'owner'] as const)
    await expect(usage.sums({ ...query, by })).rejects.toMatchObject(refused)
  await expect(usage.sums({ ...query, by: 'day', owner: 'ann' })).rejects.toMatchObject(refused)
  expect(await usage.sums({ ...query, by: 'day', owner: 'bob' })).toEqual([])
  expect(await usage.sums({ ...query, by: 'day' })).toEqual([])
  expect(await usage.sums({ ...query, by: 'session', from: '2026-11-23', to: '2026-11-23' })).toEqual([])
  database.close()
})
