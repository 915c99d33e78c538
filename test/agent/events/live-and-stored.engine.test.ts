/* Evidence, api: On DynamoDB, a holder emits the ends of calls that clients resolved in a pause, as readers derive them. */
import { expect, test } from 'vitest'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { createTestTable, dynamodbPorts } from '../../adapters/dynamodb/engine.ts'
import { dynamodbClient } from '../../engines/clients.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { openHarness } from '../harness.ts'
import { EVENTS_OF_PAUSE, resolveInPause, RESOLVED_IN_PAUSE } from './resolved-in-pause.ts'

withEngines(['dynamodb'], ({ dynamodb }) => {
  test('on DynamoDB, the holder emits the ends of calls that clients resolved in a pause, before it resumes', async () => {
    const client = dynamodbClient(dynamodb)
    const tableName = await createTestTable(client)
    const harness = await openHarness({
      ...RESOLVED_IN_PAUSE,
      change: (local) => ({
        ...local,
        ...dynamodbPorts({ client, tableName, outputs: local.outputs, clock: createSystemClock() }),
      }),
    })
    try {
      await harness.ports.sessions.create({ ...harness.key, agent: 'default', metadata: {} })
      const { live, derived, sincePause } = await resolveInPause(harness)
      expect(sincePause).toEqual(EVENTS_OF_PAUSE)
      expect(live).toEqual(derived)
    } finally {
      await harness.close()
      client.destroy()
    }
  })
})
