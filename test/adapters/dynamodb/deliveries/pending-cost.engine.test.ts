/* Evidence, limits: Finding the pending deliveries of a long thread reads no other deliveries. */
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createDiskOutputStore } from '../../../../functions/adapters/disk/output-store.ts'
import { pendingKey } from '../../../../functions/adapters/dynamodb/keys.ts'
import { flagPending } from '../../../../functions/adapters/dynamodb/log/deliveries/delivery-item.ts'
import { createTable, type Table } from '../../../../functions/adapters/dynamodb/table.ts'
import type { Delivery } from '../../../../functions/domain/delivery.ts'
import { openFixture, type SessionFixture } from '../../../contracts/session-fixture.ts'
import { createManualClock } from '../../../contracts/stores.ts'
import { dynamodbClient } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { createTestTable, dynamodbPorts } from '../engine.ts'
import { countReadUnits } from '../read-units.ts'

const OVER = 100
/** A state of the size of a Slack reply with several messages. */
const state = { text: 'x'.repeat(4_000) }
const delivery = { kind: 'paper', target: {} }
const OF_RUN = '01J00000000000000000000000'

withEngines(['dynamodb'], ({ dynamodb }) => {
  const client = dynamodbClient(dynamodb)
  const meter = countReadUnits(client)
  let table: Table
  let open: () => Promise<SessionFixture>
  let fixture: SessionFixture
  beforeAll(async () => {
    const [tableName, clock] = [await createTestTable(client), createManualClock()]
    const outputs = createDiskOutputStore({ folder: tmpdir() })
    const ports = dynamodbPorts({ client, tableName, outputs, clock })
    table = createTable({ client, tableName, clock })
    const stays = async (): Promise<void> => undefined
    open = () => openFixture({ ...ports, peer: ports, clock, breakDown: stays, close: stays })
  })
  beforeEach(async () => void (fixture = await open()))
  afterAll(() => client.destroy())

  async function add(place: number): Promise<Delivery> {
    const key = { ...fixture.key, id: `${OF_RUN}.${String(place).padStart(4, '0')}` }
    await fixture.outbox.add(key, delivery, state)
    return (await fixture.outbox.read(key)) as Delivery
  }

  const end = (one: Delivery) => fixture.outbox.change(one, { status: 'delivered', due: null })
  const pending = async (limit: number) => (await fixture.outbox.pending(fixture.key, limit)).map(({ id }) => id)

  test('finding pending deliveries reads no other deliveries, even in a long thread', async () => {
    for (let place = 0; place < OVER; place++) await end(await add(place))
    const { id } = await add(OVER)
    meter.units = 0
    expect(await pending(100)).toEqual([id])
    expect(meter.units).toBeGreaterThan(0)
    expect(meter.units).toBeLessThanOrEqual(4)
  })

  test('the sweep finds deliveries that an earlier version stored without a flag', async () => {
    const one = await add(1)
    await table.write([{ remove: pendingKey(one) }])
    expect(await pending(10)).toEqual([])
    await fixture.outbox.change(one, { owner: null, hinted: true, due: 5 })
    expect(await pending(10)).toEqual([one.id])
  })

  test('finished deliveries are not returned even if an earlier version did not remove their pending flag', async () => {
    const [first, second, third] = [await add(1), await add(2), await add(3)]
    for (const one of [first, third]) {
      await end(one)
      await table.write([flagPending(one)])
    }
    for (const limit of [1, 2, 10]) expect(await pending(limit)).toEqual([second.id])
  })
})
