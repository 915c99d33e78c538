/* Evidence, limits: A key's list of active runs fits into its item on DynamoDB. */
import { tmpdir } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import { createDiskOutputStore } from '../../../../functions/adapters/disk/output-store.ts'
import { toItem } from '../../../../functions/adapters/dynamodb/attributes.ts'
import { activeKey } from '../../../../functions/adapters/dynamodb/log/runs/active-runs.ts'
import { createTable } from '../../../../functions/adapters/dynamodb/table.ts'
import { fresh, newRun, openFixture } from '../../../contracts/session-fixture.ts'
import { createManualClock } from '../../../contracts/stores.ts'
import { dynamodbClient } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { createTestTable, dynamodbPorts } from '../engine.ts'

/** Number of runs. With session ids of the maximum length, the list of these runs has just below 400 KB. */
const LISTED = 2_480

withEngines(['dynamodb'], ({ dynamodb }) => {
  const client = dynamodbClient(dynamodb)
  afterAll(() => client.destroy())

  test('a full list of active runs drops ended runs before it exceeds the size limit of its item', async () => {
    const [tableName, clock] = [await createTestTable(client), createManualClock()]
    const ports = dynamodbPorts({ client, tableName, outputs: createDiskOutputStore({ folder: tmpdir() }), clock })
    const stays = async (): Promise<void> => undefined
    const fixture = await openFixture({ ...ports, peer: ports, clock, breakDown: stays, close: stays })
    const table = createTable({ client, tableName, clock })
    const counted = { keyId: fresh('key'), mostActive: 5_000 }
    const ended = Array.from({ length: LISTED }, (_, place) => [
      String(place).padStart(128, 's'),
      '01J00000000000000000000000',
    ])
    await table.write([{ put: toItem({ ...activeKey(counted.keyId), runs: JSON.stringify(ended), rev: 1 }) }])
    const { runId } = await fixture.inbox.enqueue(fixture.key, newRun(counted))
    const item = await table.read(activeKey(counted.keyId))
    expect(item?.['runs']?.S).toBe(JSON.stringify([[fixture.key.session, runId]]))
  })
})
