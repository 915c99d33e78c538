/* Evidence, limits: Finding the steering inputs behind a long queue reads no other inputs. */
import { expect, test } from 'vitest'
import { newRun, openFixture, startRun } from '../../../contracts/session-fixture.ts'
import { dynamodbClient } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { dynamodbEngine } from '../engine.ts'
import { countReadUnits } from '../read-units.ts'

const QUEUED = 100
/** An input of almost the maximum size that fits into a row. */
const TEXT = 'x'.repeat(4_000)

withEngines(['dynamodb'], ({ dynamodb }) => {
  test('finding steering inputs reads no other inputs, even behind a long queue', async () => {
    const client = dynamodbClient(dynamodb)
    const meter = countReadUnits(client)
    const stores = await dynamodbEngine(dynamodb, client).open()
    const fixture = await openFixture(stores)
    await startRun(fixture)
    const input = { parts: [{ type: 'text', text: TEXT }] } as const
    for (let count = 0; count < QUEUED; count++) await fixture.inbox.enqueue(fixture.key, newRun({ input }))
    const { runId } = await fixture.inbox.enqueue(fixture.key, newRun({ input, onBusy: 'steer' }))
    meter.units = 0
    expect(await fixture.reader.steering(fixture.key, 64)).toEqual([runId])
    expect(meter.units).toBeGreaterThan(0)
    expect(meter.units).toBeLessThanOrEqual(3)
    meter.units = 0
    expect(await fixture.reader.queued(fixture.key, 1)).toHaveLength(1)
    expect(meter.units).toBeLessThanOrEqual(15)
    await stores.close()
  })
})
