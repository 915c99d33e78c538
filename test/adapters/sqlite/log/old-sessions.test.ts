import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, test } from 'vitest'
import { readAll, write, type Database } from '../../../../functions/adapters/sqlite/database.ts'
import { LISTS_SCHEMA } from '../../../../functions/adapters/sqlite/log/sessions/list-schema.ts'
import { createSqliteRunInbox } from '../../../../functions/adapters/sqlite/log/runs/run-inbox.ts'
import { createSqliteSessionJanitor } from '../../../../functions/adapters/sqlite/log/sessions/session-janitor.ts'
import { createSqliteSessionStore } from '../../../../functions/adapters/sqlite/log/sessions/session-store.ts'
import { migrate, MIGRATIONS } from '../../../../functions/adapters/sqlite/migrations.ts'
import { nextIds } from '../../../../functions/domain/ids.ts'
import type { Message } from '../../../../functions/domain/messages/message.ts'
import { createManualClock } from '../../../contracts/stores.ts'
import { newRun } from '../../../contracts/session-fixture.ts'
import { storeMessages } from './stored-messages.ts'

const tenant = 'acme'
const HOUR = 3_600_000

let database: Database
beforeEach(() => {
  database = new DatabaseSync(':memory:')
  migrate(database, MIGRATIONS.slice(0, MIGRATIONS.indexOf(LISTS_SCHEMA)))
})

/** Stores a session in the format of the previous version, with messages of these times. */
function storeOld(session: string, updatedAt: number, details: object, times: readonly number[]): void {
  const [taskId = '', ...ids] = nextIds(undefined, updatedAt, times.length + 1)
  const base = { runId: 'run', agent: 'default', round: 0 }
  const messages = times.map((createdAt, n): Message =>
    n % 2 === 0
      ? {
          ...base,
          id: ids[n] ?? '',
          role: 'user',
          createdAt,
          parts: [{ type: 'text', text: n === 0 ? '?' : `Words ${n}` }],
        }
      : {
          ...base,
          id: ids[n] ?? '',
          role: 'assistant',
          createdAt,
          parts: [{ type: 'text', text: 'Said' }],
          toolCalls: [],
        },
  )
  const task = { ...base, id: taskId, role: 'user', parentToolCallId: 'c', createdAt: 1, parts: [] } as const
  storeMessages(database, { tenant, session }, messages.length === 0 ? [] : [task, ...messages])
  const sql = `INSERT INTO sessions (tenant, session, agent, createdAt, updatedAt, totals, head)
    VALUES (?, ?, 'default', ?, ?, '{"runs":0,"rounds":0,"usage":{},"byAgent":{}}', ?)
    ON CONFLICT (tenant, session) DO UPDATE
      SET createdAt = excluded.createdAt, updatedAt = excluded.updatedAt, totals = excluded.totals, head = excluded.head`
  write(database, sql, tenant, session, updatedAt - HOUR, updatedAt, messages.at(-1)?.id ?? null)
  const row = 'INSERT INTO details (session, body) SELECT number, ? FROM sessions WHERE session = ?'
  write(database, row, JSON.stringify({ metadata: {}, ...details }), session)
}

function openMigrated() {
  migrate(database)
  const clock = createManualClock(100 * HOUR)
  const rows = { database, clock, history: { written: () => undefined } }
  const sessions = createSqliteSessionStore(rows)
  const inbox = createSqliteRunInbox(rows)
  return { sessions, inbox, janitor: createSqliteSessionJanitor(rows), clock }
}

const uncounted = (): number => readAll(database, 'SELECT 1 FROM sessions WHERE messageCount IS NULL').length

test('a session of an earlier version shows its title, times and count, and the sweeper stores them', async () => {
  storeOld('talked', 10 * HOUR, {}, [2_000, 3_000, 4_000, 5_000])
  storeOld('imported', 20 * HOUR, { title: 'Named', metadata: { source: 'codex', cwd: '/p' } }, [1_000])
  storeOld('empty', 30 * HOUR, {}, [])
  const { sessions, janitor } = openMigrated()
  const folder = [{ key: 'folder', value: '/p', isPrefix: false }]
  const listed = async () => (await sessions.list({ tenant, limit: 10 })).sessions
  const before = await listed()
  // Sessions whose messages are not counted yet are sorted by their last activity.
  expect(before.map(({ session }) => session)).toEqual(['imported', 'talked', 'empty'])
  expect(before).toMatchObject([
    { title: 'Named', titleSource: 'given', messages: { count: 1, firstAt: 1, lastAt: 1_000 } },
    { title: 'Words 2', titleSource: 'input', messages: { count: 4, firstAt: 1, lastAt: 5_000 } },
    { messages: { count: 0 } },
  ])
  expect(before[0]?.metadata).toMatchObject({ cwd: '/p', folder: '/p' })
  expect(await sessions.read({ tenant, session: 'talked' })).toEqual(before[1])
  expect((await sessions.list({ tenant, limit: 10, q: 'words' })).sessions).toEqual([before[1]])
  expect(await janitor.adopt(2)).toBe(true)
  expect(await janitor.adopt(2)).toBe(false)
  expect(uncounted()).toBe(0)
  const after = await listed()
  expect(after.map(({ session }) => session)).toEqual(['talked', 'imported', 'empty'])
  expect(after.toSorted((one, other) => other.updatedAt - one.updatedAt)).toEqual(
    before.toSorted((one, other) => other.updatedAt - one.updatedAt),
  )
  expect((await sessions.list({ tenant, limit: 10, metadata: folder })).sessions).toEqual([before[0]])
  expect((await sessions.list({ tenant, limit: 10, q: 'words' })).sessions).toEqual([before[1]])
})

test('the next write to a session of an earlier version stores its title and continues its message count', async () => {
  storeOld('talked', 10 * HOUR, {}, [2_000, 3_000, 4_000, 5_000])
  const { sessions, inbox, clock } = openMigrated()
  const key = { tenant, session: 'talked' }
  await inbox.enqueue(key, newRun({ startAs: 'owner' }))
  expect(uncounted()).toBe(0)
  expect(await sessions.read(key)).toMatchObject({
    ...{ title: 'Words 2', titleSource: 'input' },
    messages: { count: 5, firstAt: 1, lastAt: clock.now() },
  })
})

test('an unreadable session does not block others', async () => {
  storeOld('damaged', 10 * HOUR, {}, [2_000, 3_000])
  storeOld('sound', 20 * HOUR, {}, [2_000, 3_000])
  const { janitor } = openMigrated()
  write(database, `UPDATE messages SET body = 'no JSON' WHERE number = 2`)
  await expect(janitor.adopt(1)).rejects.toThrow()
  expect(await janitor.adopt(1)).toBe(true)
  expect(await janitor.adopt(1)).toBe(false)
  expect(uncounted()).toBe(1)
})
