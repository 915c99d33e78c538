import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BatchWriteItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { createDiskOutputStore } from '../../functions/adapters/disk/output-store.ts'
import { toItem, type Item } from '../../functions/adapters/dynamodb/attributes.ts'
import { detailsKey, headerKey, runKey } from '../../functions/adapters/dynamodb/keys.ts'
import { firstListing } from '../../functions/adapters/dynamodb/log/sessions/lists/list-entries.ts'
import { listedAs, type Details } from '../../functions/adapters/dynamodb/log/sessions/session-details.ts'
import { createDynamoSessionStore } from '../../functions/adapters/dynamodb/log/sessions/session-store.ts'
import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'
import type { SessionFilter, SessionSort } from '../../functions/domain/session-filter.ts'
import { createTestTable } from '../../test/adapters/dynamodb/engine.ts'
import { countReadUnits } from '../../test/adapters/dynamodb/read-units.ts'
import { dynamodbClient } from '../../test/engines/clients.ts'
import { startEngine } from '../../test/engines/engines.ts'
import { printTable } from '../report.ts'

/**
 * Measures the read units of a page of 50 sessions on DynamoDB Local, for a tenant with 1,000, 10,000 and 100,000
 * sessions. Covers each order with each indexed filter, with and without a range of times. No figure may depend on the
 * number of sessions.
 *
 * Rows are written directly, in the form that the store gives them when a run ends. Every third session was changed
 * after its last message.
 */
const SIZES = [1_000, 10_000, 100_000]
const PAGE = 50
/** Number of sessions that match the filters. They share an owner, an agent, a status, a folder and a source. */
const RARE = 100
/** Maximum number of rows that the engine writes in one request. */
const BATCH = 25
const WRITERS = 4
const START = Date.UTC(2026, 0, 1)
const SORTS: readonly SessionSort[] = ['last_message_at', 'updated_at', 'created_at']

const exact = (key: string, value: string) => ({ metadata: [{ key, value, isPrefix: false }] })
const FILTERS: readonly (readonly [name: string, filter: Partial<SessionFilter>])[] = [
  ['no filter', {}],
  ['owner', { owner: 'rare' }],
  ['agent', { agent: 'rare' }],
  ['status', { runStatus: 'failed' }],
  ['folder', exact('folder', '/rare')],
  ['source', exact('source', 'rare')],
  ['source of most', exact('source', 'codex')],
]

function rowsOf(tenant: string, n: number): Item[] {
  const key = { tenant, session: `session-${n}` }
  const isRare = n < RARE
  const createdAt = START + n * 1_000
  const lastMessageAt = createdAt + 500
  const updatedAt = n % 3 === 0 ? lastMessageAt + 100 : lastMessageAt
  const metadata = isRare ? { folder: '/rare', source: 'rare' } : { folder: `/f${n % 97}`, source: 'codex' }
  const said = isRare ? { agent: 'rare', owner: 'rare' } : { agent: 'helper', owner: `owner-${n % 89}` }
  const details: Details = { ...said, title: `Session ${n}`, titleSource: 'input', metadata, createdAt }
  const runStatus = isRare ? 'failed' : 'completed'
  const listed = { key, ...listedAs(details), runStatus, settled: runStatus, createdAt, updatedAt, lastMessageAt } as const
  const { fields, actions } = firstListing(listed)
  const run = `${n}`.padStart(26, '0')
  const header = {
    ...{ status: 'live', gen: 2, paused: false, waiting: 0, queued: 0, takeovers: 0, runs: 1, rounds: 1, tail: run },
    ...{ messages: 2, first_at: createdAt, last_at: lastMessageAt },
  }
  return [
    toItem({ ...headerKey(key), ...header, ...fields }),
    toItem({ ...detailsKey(key), body: JSON.stringify(details), rev: 1 }),
    toItem({ ...runKey(key, run), status: runStatus, agent: said.agent, created_at: createdAt }),
    ...actions.flatMap((action) => ('put' in action ? [action.put] : [])),
  ]
}

async function fill(client: DynamoDBClient, table: string, tenant: string, size: number): Promise<void> {
  let n = 0
  async function writer(): Promise<void> {
    let rows: Item[] = []
    const flush = async (): Promise<void> => {
      for (let from = 0; from < rows.length; from += BATCH) {
        const requests = rows.slice(from, from + BATCH).map((row) => ({ PutRequest: { Item: row } }))
        const { UnprocessedItems: left = {} } = await client.send(
          new BatchWriteItemCommand({ RequestItems: { [table]: requests } }),
        )
        if (Object.keys(left).length > 0) throw new Error('the engine did not take all rows')
      }
      rows = []
    }
    while (n < size) {
      rows.push(...rowsOf(tenant, n++))
      if (rows.length >= BATCH * 4) await flush()
    }
    await flush()
  }
  await Promise.all(Array.from({ length: WRITERS }, writer))
}

const engine = await startEngine('dynamodb')
const client = dynamodbClient(engine.endpoint)
const folder = mkdtempSync(join(tmpdir(), 'tooltrail-many-'))
try {
  const tableName = await createTestTable(client)
  const outputs = createDiskOutputStore({ folder })
  const sessions = createDynamoSessionStore({ client, tableName, outputs, clock: createSystemClock() })
  for (const size of SIZES) await fill(client, tableName, `of-${size}`, size)
  const meter = countReadUnits(client)
  const unitsOf = async (filter: Omit<SessionFilter, 'limit'>): Promise<number> => {
    const before = meter.units
    const page = await sessions.list({ ...filter, limit: PAGE })
    if (page.sessions.length !== PAGE) throw new Error(`a page has ${page.sessions.length} sessions, not ${PAGE}`)
    return meter.units - before
  }
  const rows: (string | number)[][] = []
  for (const sort of SORTS)
    for (const [name, filter] of FILTERS) {
      const cells: string[] = []
      for (const size of SIZES) {
        const of = { tenant: `of-${size}`, sort, ...filter }
        const since = START
        const bounded = { since, until: START + size * 1_000, order: 'asc' } as const
        cells.push(`${await unitsOf(of)} / ${await unitsOf({ ...of, ...bounded })}`)
      }
      rows.push([sort, name, ...cells])
    }
  const header = ['sort', 'filter', ...SIZES.map((size) => `beside ${size.toLocaleString('en')}`)]
  printTable('Read units of a page of 50 sessions on DynamoDB, newest first / oldest first between two times', header, rows)
} finally {
  client.destroy()
  rmSync(folder, { recursive: true, force: true })
  await engine.stop()
}
