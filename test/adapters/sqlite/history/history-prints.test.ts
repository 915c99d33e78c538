import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { cursorName } from '../../../../functions/adapters/sqlite/history/search/cursor.ts'
import { HISTORY_PRINTS_SCHEMA } from '../../../../functions/adapters/sqlite/history/schema.ts'
import { migrate, MIGRATIONS } from '../../../../functions/adapters/sqlite/migrations.ts'
import { nextId } from '../../../../functions/domain/ids.ts'
import { messagePrint } from '../../../../functions/search/cursor.ts'

test('names that cursors had for messages are brought up to date with their file', () => {
  const database = new DatabaseSync(':memory:')
  migrate(database, MIGRATIONS.slice(0, MIGRATIONS.indexOf(HISTORY_PRINTS_SCHEMA)))
  const key = { tenant: 'acme', session: 'old' }
  const message = nextId(undefined, Date.UTC(2026, 4, 1))
  database
    .prepare('INSERT INTO historyMessages (tenant, session, message, print, run, agent) VALUES (1, ?, ?, ?, ?, ?)')
    .run(key.session, message, messagePrint(key, message), message, 'default')
  migrate(database)
  expect(database.prepare('SELECT print FROM historyMessages').get()).toEqual({ print: cursorName(key, message) })
  database.close()
})

test('names of messages of the same quarter of an hour begin alike', () => {
  const name = (time: number): string => cursorName({ tenant: 'acme', session: 's' }, nextId(undefined, time))
  const time = 1_000 * 2 ** 20
  expect(name(time).slice(0, 5)).toBe(name(time + 2 ** 20 - 1).slice(0, 5))
  expect(name(time).slice(0, 5) < name(time + 2 ** 20).slice(0, 5)).toBe(true)
})
