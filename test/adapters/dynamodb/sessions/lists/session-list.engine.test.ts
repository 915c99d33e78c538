import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BatchGetItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../../../../functions/domain/defined-fields.ts'
import { createDiskOutputStore } from '../../../../../functions/adapters/disk/output-store.ts'
import type { SessionFilter, SessionSort } from '../../../../../functions/domain/session-filter.ts'
import { importInputs } from '../../../../contracts/import-inputs.ts'
import { endAfter, startRun, type SessionFixture } from '../../../../contracts/session-fixture.ts'
import { createManualClock } from '../../../../contracts/stores.ts'
import { dynamodbClient } from '../../../../engines/clients.ts'
import { withEngines } from '../../../../engines/with-engines.ts'
import { createTestTable, dynamodbPorts } from '../../engine.ts'
import { countReadUnits } from '../../read-units.ts'

const SIZES = { small: 100, large: 1_000 } as const
/** Number of sessions that a filter finds. These sessions are older than all others. */
const RARE = 12
const LIMIT = 5
const AT_ONCE = 20

const exact = (key: string, value: string) => ({ metadata: [{ key, value, isPrefix: false }] })
const FILTERS: readonly (readonly [string, Partial<SessionFilter>])[] = [
  ['no filter', {}],
  ['owner', { owner: 'ada' }],
  ['agent', { agent: 'rare' }],
  ['status', { runStatus: 'failed' }],
  ['folder', exact('folder', '/rare')],
  ['source', exact('source', 'rare')],
]
const SORTS: readonly SessionSort[] = ['last_message_at', 'updated_at', 'created_at']

withEngines(['dynamodb'], ({ dynamodb }) => {
  const client = dynamodbClient(dynamodb)
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-list-'))
  const clock = createManualClock()
  const meter = countReadUnits(client)
  let stores: SessionFixture
  let rows = 0

  beforeAll(async () => {
    const outputs = createDiskOutputStore({ folder })
    const ports = dynamodbPorts({ client, tableName: await createTestTable(client), outputs, clock })
    stores = { ...ports, clock } as unknown as SessionFixture
    for (const [tenant, size] of Object.entries(SIZES)) await fill(tenant, size)
    client.middlewareStack.add(
      (next, { commandName = '' }) =>
        async (input) => {
          const response = await next(input)
          const { Responses = {}, Items = [] } = response.output as {
            Responses?: Record<string, unknown[]>
            Items?: []
          }
          if (commandName === BatchGetItemCommand.name) rows += Object.values(Responses).flat().length
          if (commandName === QueryCommand.name) rows += Items.length
          return response
        },
      { step: 'initialize', name: 'rows' },
    )
  })
  afterAll(() => {
    client.destroy()
    rmSync(folder, { recursive: true, force: true })
  })

  async function fill(tenant: string, size: number): Promise<void> {
    for (let n = 0; n < size; n += n < RARE ? 1 : AT_ONCE) {
      clock.advance(1_000)
      const batch = Array.from({ length: n < RARE ? 1 : Math.min(AT_ONCE, size - n) }, (_, place) => n + place)
      await Promise.all(batch.map((number) => make(tenant, number)))
    }
  }

  async function make(tenant: string, n: number): Promise<void> {
    const rare = n < RARE
    const key = { tenant, session: `s${n}` }
    const fixture = { ...stores, key }
    const metadata = rare
      ? { folder: '/rare', source: 'rare', branch: 'rare' }
      : { folder: `/f${n % 7}`, source: 'codex' }
    await stores.sessions.create({ ...key, agent: rare ? 'rare' : 'helper', owner: rare ? 'ada' : 'bob', metadata })
    if (!rare) return importInputs(fixture, [{ text: 'usual' }])
    const { lease } = await startRun(fixture, { input: { parts: [{ type: 'text', text: 'unheard of' }] } })
    await stores.log.endRun(lease, endAfter(fixture, lease, lease.head, 'failed'))
  }

  async function page(filter: SessionFilter) {
    const [units, read] = [meter.units, rows]
    const { sessions, next } = await stores.sessions.list(filter)
    return { names: sessions.map(({ session }) => session), next, units: meter.units - units, rows: rows - read }
  }

  describe.each(SORTS)('a session list by %s', (sort) => {
    test.each(FILTERS)('costs the same for 100 and for 1,000 sessions: %s', async (_name, filter) => {
      const [small, large] = [
        await page({ tenant: 'small', sort, limit: LIMIT, ...filter }),
        await page({ tenant: 'large', sort, limit: LIMIT, ...filter }),
      ]
      expect(small.units).toBeGreaterThan(0)
      expect(large.names).toHaveLength(LIMIT)
      expect(large.next).toBeDefined()
      expect(large.units).toBeLessThanOrEqual(small.units * 1.1 + 1)
      const bounds = { since: 0, until: clock.now(), order: 'asc' } as const
      const oldest = await page({ tenant: 'large', sort, limit: LIMIT, ...filter, ...bounds })
      expect(oldest.names).toHaveLength(LIMIT)
      expect(oldest.units).toBeLessThanOrEqual(small.units * 1.5 + 1)
    })
  })

  test.each<readonly [string, Partial<SessionFilter>]>([
    ['q', { q: 'unheard' }],
    ['a field of the metadata', exact('branch', 'rare')],
    ['the beginning of a field', { metadata: [{ key: 'folder', value: '/ra', isPrefix: true }] }],
  ])('a page reads a bounded number of rows, and the next page continues after them: %s', async (_name, filter) => {
    const found: string[] = []
    let [pages, after] = [0, undefined as string | undefined]
    do {
      const one = await page({ tenant: 'large', limit: 50, ...filter, ...definedFields({ after }) })
      expect(one.rows).toBeLessThanOrEqual(1_800)
      found.push(...one.names)
      after = one.next
      pages++
    } while (after !== undefined && pages < 20)
    expect(found).toEqual(Array.from({ length: RARE }, (_, n) => `s${RARE - 1 - n}`))
    expect(pages).toBeGreaterThan(1)
  })
})
