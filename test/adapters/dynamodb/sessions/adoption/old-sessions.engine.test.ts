import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeleteItemCommand, GetItemCommand, PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { definedFields } from '../../../../../functions/domain/defined-fields.ts'
import { createDiskOutputStore } from '../../../../../functions/adapters/disk/output-store.ts'
import { requiredText, toItem, type Item } from '../../../../../functions/adapters/dynamodb/attributes.ts'
import {
  headerKey,
  ownerGroup,
  partitionOf,
  placeAt,
  sessionsGroups,
} from '../../../../../functions/adapters/dynamodb/keys.ts'
import type { SessionFilter } from '../../../../../functions/domain/session-filter.ts'
import {
  endAfter,
  fresh,
  newRun,
  openFixture,
  startRun,
  type SessionFixture,
} from '../../../../contracts/session-fixture.ts'
import { createManualClock, type Stores } from '../../../../contracts/stores.ts'
import { dynamodbClient } from '../../../../engines/clients.ts'
import { withEngines } from '../../../../engines/with-engines.ts'
import { createTestTable, dynamodbPorts } from '../../engine.ts'

const DAY = 86_400_000
const NEW_FIELDS = [
  ...['list_rev', 'created', 'updated', 'listed', 'settled', 'folder_print', 'source_print', 'opened'],
  ...['messages', 'first_at', 'last_at', 'imported_at'],
]

withEngines(['dynamodb'], ({ dynamodb }) => {
  const client = dynamodbClient(dynamodb)
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-old-'))
  const clock = createManualClock()
  let TableName = ''
  let stores: Stores

  beforeAll(async () => {
    TableName = await createTestTable(client)
    const ports = dynamodbPorts({ client, tableName: TableName, outputs: createDiskOutputStore({ folder }), clock })
    stores = { ...ports, peer: ports, clock } as unknown as Stores
  })
  afterAll(() => {
    client.destroy()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Stores a session with one ended run, in the format of the previous version. */
  async function storeOld(tenant: string, session: string, owner?: string): Promise<SessionFixture> {
    const metadata = { source: 'codex', cwd: '/p' }
    const fixture = await openFixture(stores, { tenant, session, metadata, ...definedFields({ owner }) })
    const { lease } = await startRun(fixture)
    clock.advance(1_000)
    await fixture.log.endRun(lease, endAfter(fixture, lease, lease.head, 'failed'))
    const Key = { ...toItem({ ...headerKey(fixture.key) }) }
    const { Item: header = {} } = await client.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }))
    const old = Object.fromEntries(Object.entries(header).filter(([name]) => !NEW_FIELDS.includes(name)))
    const place = { group: sessionsGroups(tenant)[0], at: placeAt(clock.now(), session) }
    const owned = owner === undefined ? {} : { owner_group: ownerGroup(tenant, owner) }
    await client.send(new PutItemCommand({ TableName, Item: { ...old, ...toItem({ ...place, ...owned }) } }))
    for (const item of await newRows(fixture))
      await client.send(
        new DeleteItemCommand({
          TableName,
          Key: { ...toItem({ pk: requiredText(item, 'pk'), sk: requiredText(item, 'sk') }) },
        }),
      )
    return fixture
  }

  async function newRows({ key }: SessionFixture): Promise<Item[]> {
    const values = toItem({ ':pk': partitionOf(key), ':from': '#LIST#', ':to': '#OPENING' })
    const { Items = [] } = await client.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
        ExpressionAttributeValues: { ...values },
        ConsistentRead: true,
      }),
    )
    return Items.filter((item) => !requiredText(item, 'sk').startsWith('#NAME'))
  }

  const list = async (filter: Omit<SessionFilter, 'limit'>): Promise<string[]> =>
    (await stores.sessions.list({ limit: 10, ...filter })).sessions.map(({ session }) => session)

  const folderIs = (value: string) => ({ metadata: [{ key: 'folder', value, isPrefix: false }] })

  test('sessions of an earlier version appear in all lists beside sessions of this version', async () => {
    const tenant = fresh('tenant')
    await storeOld(tenant, 'a')
    const b = await openFixture(stores, { tenant, session: 'b', owner: 'ada' })
    await startRun(b)
    await storeOld(tenant, 'c', 'ada')
    for (const sort of ['last_message_at', 'updated_at'] as const) {
      expect(await list({ tenant, sort })).toEqual(['c', 'b', 'a'])
      expect(await list({ tenant, sort, order: 'asc' })).toEqual(['a', 'b', 'c'])
      expect(await list({ tenant, sort, owner: 'ada' })).toEqual(['c', 'b'])
    }
    expect(await list({ tenant, runStatus: 'failed' })).toEqual(['c', 'a'])
    expect(await list({ tenant, q: 'hello' })).toEqual(['c', 'b', 'a'])
    expect(await list({ tenant, ...folderIs('/p') })).toEqual(['c', 'a'])
    const pages: string[] = []
    let after: string | undefined
    do {
      const page = await stores.sessions.list({ tenant, limit: 1, ...definedFields({ after }) })
      pages.push(...page.sessions.map(({ session }) => session))
      after = page.next
    } while (after !== undefined)
    expect(pages).toEqual(['c', 'b', 'a'])
    const shown = await stores.sessions.read({ tenant, session: 'c' })
    expect(shown).toMatchObject({ title: 'hello', titleSource: 'input', messages: { count: 2, lastAt: clock.now() } })
    expect(shown?.metadata).toMatchObject({ folder: '/p' })
  })

  test('the next write to an earlier version’s session stores the list entries and continues the counters', async () => {
    const old = await storeOld(fresh('tenant'), 'a')
    const { tenant } = old.key
    const before = await old.sessions.read(old.key)
    expect(await newRows(old)).toEqual([])
    const { runId } = await old.inbox.enqueue(old.key, newRun())
    expect(await list({ tenant, runStatus: 'queued' })).toEqual(['a'])
    await old.inbox.cancel(old.key, runId)
    expect(await list({ tenant, runStatus: 'cancelled' })).toEqual(['a'])
    expect(await old.sessions.read(old.key)).toMatchObject({ ...before, run: { status: 'cancelled' } })
    expect((await newRows(old)).length).toBeGreaterThan(3)
  })

  test('the sweeper searches for old sessions once a day, and stores their list entries in small steps', async () => {
    const tenant = fresh('tenant')
    const made: SessionFixture[] = []
    for (let n = 0; n < 7; n++) made.push(await storeOld(tenant, `s${n}`))
    const before = await stores.sessions.list({ tenant, limit: 10 })
    let steps = 1
    while (await stores.janitor.adopt(3)) steps++
    expect(steps).toBeGreaterThan(2)
    for (const one of made) expect((await newRows(one)).length).toBeGreaterThan(3)
    expect((await stores.sessions.list({ tenant, limit: 10 })).sessions).toEqual(before.sessions)
    expect(await list({ tenant, ...folderIs('/p'), sort: 'created_at', order: 'asc' })).toEqual(
      made.map(({ key }) => key.session),
    )
    const late = await storeOld(tenant, 'late')
    expect(await stores.janitor.adopt(100)).toBe(false)
    expect(await newRows(late)).toEqual([])
    clock.advance(DAY)
    while (await stores.janitor.adopt(100));
    expect((await newRows(late)).length).toBeGreaterThan(3)
  })
})
