import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QueryCommand, BatchGetItemCommand } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDiskOutputStore } from '../../../../functions/adapters/disk/output-store.ts'
import { createManualClock } from '../../../contracts/stores.ts'
import type { SessionPorts } from '../../../contracts/stores.ts'
import { dynamodbClient } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { createTestTable, dynamodbPorts } from '../engine.ts'

const SESSIONS = 600
const READS: ReadonlySet<string> = new Set([QueryCommand.name, BatchGetItemCommand.name])

withEngines(['dynamodb'], ({ dynamodb }) => {
  const client = dynamodbClient(dynamodb)
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-list-'))
  const tenant = 'crowded'
  let sessions: SessionPorts['sessions']
  let requests = 0

  beforeAll(async () => {
    const tableName = await createTestTable(client)
    const clock = createManualClock()
    const outputs = createDiskOutputStore({ folder })
    ;({ sessions } = dynamodbPorts({ client, tableName, outputs, clock }))
    for (let n = 0; n < SESSIONS; n++) {
      clock.advance(1_000)
      const agent = n % 200 === 7 ? 'rare' : 'helper'
      const owner = n % 100 === 3 ? 'ada' : 'bob'
      await sessions.create({ tenant, session: `s${n}`, agent, owner, metadata: {} })
    }
    client.middlewareStack.add(
      (next, { commandName = '' }) =>
        (input) => {
          if (READS.has(commandName)) requests++
          return next(input)
        },
      { step: 'initialize', name: 'count' },
    )
  }, 240_000)
  afterAll(() => {
    client.destroy()
    rmSync(folder, { recursive: true, force: true })
  })

  async function page(filter: object): Promise<{ names: readonly string[]; next: string | undefined; asked: number }> {
    const before = requests
    const found = await sessions.list({ tenant, limit: 5, ...filter })
    return { names: found.sessions.map(({ session }) => session), next: found.next, asked: requests - before }
  }

  test('a page of an owner costs what it shows, however many sessions the tenant has', async () => {
    const first = await page({ owner: 'ada' })
    expect(first.names).toEqual(['s503', 's403', 's303', 's203', 's103'])
    expect(first.asked).toBeLessThanOrEqual(4)
    expect(await page({ owner: 'ada', after: first.next })).toMatchObject({ names: ['s3'], next: undefined })
  })

  test('an agent that few sessions have is found with few requests', async () => {
    const { names, next, asked } = await page({ agent: 'rare' })
    expect({ names, next }).toEqual({ names: ['s407', 's207', 's7'], next: undefined })
    expect(asked).toBeLessThanOrEqual(8)
  })

  test('a state that no session has is told with few requests where the index tells it, else within the bound', async () => {
    expect(await page({ runStatus: 'running' })).toMatchObject({ names: [], next: undefined })
    const first = await page({ runStatus: 'failed' })
    expect(first.names).toEqual([])
    expect(first.asked).toBeLessThanOrEqual(100)
    let next = first.next
    let pages = 1
    for (; next !== undefined; pages++) ({ next } = await page({ runStatus: 'failed', after: next }))
    expect(pages).toBe(2)
  })
})
