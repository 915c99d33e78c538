import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase, transaction, write } from '../functions/adapters/sqlite/database.ts'
import { runStatusCode } from '../functions/adapters/sqlite/log/codes.ts'
import { createSqliteSessionJanitor } from '../functions/adapters/sqlite/log/sessions/session-janitor.ts'
import { createSqliteSessionStore } from '../functions/adapters/sqlite/log/sessions/session-store.ts'
import { writeSessionCursor } from '../functions/search/session-cursor.ts'
import { createSystemClock } from '../functions/adapters/memory/system-clock.ts'
import { NO_TOTALS } from '../functions/domain/session.ts'
import { encodeTotals } from '../functions/adapters/sqlite/log/sessions/session-rows.ts'
import { printTable, quantile, timed } from './report.ts'

/**
 * Measures list pages, sweeps and new sessions on SQLite with 10,000, 100,000 and a million other sessions. Half of
 * them belong to one tenant. None of these times may depend on the number of sessions. The rows are written directly,
 * in the form that the store uses. Their messages are counted in the rows, but not stored.
 */
const SIZES = [10_000, 100_000, 1_000_000]
const OF_AN_OWNER = 100
/** Among each group of this many sessions, one has a failed run, one is due, and one has expired. */
const RARE = 5_000
const TENANTS = 1_000
const PAGE = 50
const TIMES = 200

const MADE = `INSERT INTO sessions (number, tenant, session, agent, owner, createdAt, updatedAt, totals, run, runStatus, due, expiresAt,
    messageCount, firstMessageAt, lastMessageAt, folder, source)
  WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ?1)
  SELECT n, iif(n % 2, 'crowded', 'tenant-' || (n % ?2)), 'session-' || n, iif(n % 3, 'helper', 'other'), 'owner-' || (n / ?3),
    n, n, ?4, 'run-' || n, iif(n % ?5 = 7, ?6, ?7), iif(n % ?5 = 11, n, NULL), iif(n % ?5 = 13, n, NULL),
    2, n, n, 'folder-' || (n / ?3), iif(n % 2, 'codex', 'claude-code') FROM counted`

async function measure(size: number): Promise<(string | number)[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-many-'))
  const database = openDatabase(join(folder, 'tooltrail.db'))
  transaction(database, () => {
    const codes = [runStatusCode('failed'), runStatusCode('completed')]
    write(database, MADE, size, TENANTS, OF_AN_OWNER, encodeTotals(NO_TOTALS), RARE, ...codes)
    write(database, `INSERT INTO details (session, body) SELECT number, '{"metadata":{}}' FROM sessions`)
  })
  const sessions = createSqliteSessionStore({ database, clock: createSystemClock() })
  const janitor = createSqliteSessionJanitor({ database })
  const page = (filter: object) => () => sessions.list({ tenant: 'crowded', limit: PAGE, ...filter })
  let made = 0
  const works = [
    page({}),
    page({ after: writeSessionCursor({ tenant: 'crowded', limit: PAGE }, `${(size / 2).toString(36)}.1`) }),
    page({ sort: 'created_at', since: size / 4, until: size / 2 }),
    page({ owner: `owner-${size / 2 / OF_AN_OWNER}` }),
    page({ agent: 'other' }),
    page({ metadata: [{ key: 'folder', value: `folder-${size / 2 / OF_AN_OWNER}`, isPrefix: false }] }),
    page({ metadata: [{ key: 'source', value: 'codex', isPrefix: false }] }),
    page({ q: 'nothing' }),
    page({ runStatus: 'failed' }),
    page({ agent: 'other', runStatus: 'failed' }),
    page({ owner: `owner-${size / 2 / OF_AN_OWNER}`, agent: 'other', runStatus: 'completed' }),
    () => janitor.due(size, 100),
    () => janitor.expired(size, 100),
    () => sessions.create({ tenant: 'crowded', session: `new-${made++}`, agent: 'helper', metadata: {} }),
  ]
  const cells: number[] = []
  for (const work of works) {
    const times: number[] = []
    for (let time = 0; time < TIMES; time++) times.push(await timed(work))
    cells.push(quantile(times, 0.5))
  }
  database.close()
  rmSync(folder, { recursive: true })
  return [String(size), ...cells]
}

const rows: (string | number)[][] = []
for (const size of SIZES) rows.push(await measure(size))
printTable(
  'Pages and sweeps beside many sessions, SQLite, milliseconds (p50)',
  [
    ...['sessions', 'a page', 'from the middle', 'by creation, bounded', 'of an owner', 'of an agent', 'of a folder'],
    ...['of a source', 'of words', 'of a state', 'of an agent in a state', 'of an owner and agent in a state'],
    ...['due', 'expired', 'a new session'],
  ],
  rows,
)
