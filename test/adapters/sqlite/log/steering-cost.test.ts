/* Evidence, limits: Finding the steering inputs behind a long queue reads no other inputs. */
import { expect, test } from 'vitest'
import { openDatabase, readAll } from '../../../../functions/adapters/sqlite/database.ts'
import { steeringRuns } from '../../../../functions/adapters/sqlite/log/runs/run-rows.ts'

test('finding steering inputs behind 1,000 queued inputs reads only the steering inputs', () => {
  const database = openDatabase(':memory:')
  const insert = database.prepare(`INSERT INTO runs (session, id, status, body) VALUES (1, ?, 0, ?)`)
  for (let place = 0; place < 1_001; place++)
    insert.run(String(place).padStart(4, '0'), JSON.stringify({ onBusy: place === 1_000 ? 'steer' : 'queue' }))
  expect(steeringRuns(database, 1, 64)).toEqual(['1000'])
  // The search reads only rows of this index, which contains only steering inputs.
  const plan = readAll<{ detail: string }>(
    database,
    `EXPLAIN QUERY PLAN SELECT id FROM runs WHERE session = 1 AND status = 0 AND body ->> 'onBusy' = 'steer' ORDER BY id LIMIT 64`,
  )
  expect(plan.map(({ detail }) => detail)).toEqual([expect.stringContaining('runs_steering (session=?)')])
  database.close()
})
