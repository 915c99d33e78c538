import { expect, test } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { anyPlan, playPlan } from '../../../agent/events/planned-run.ts'
import { dynamodbClient } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { fc } from '../../../generators/seeded.ts'
import { isWhole } from '../../../whole.ts'
import { createTestTable, dynamodbPorts } from '../engine.ts'

withEngines(['dynamodb'], ({ dynamodb }) => {
  test('a client that resumes after any event gets every later event once and in order', async () => {
    const client = dynamodbClient(dynamodb)
    const clock = createSystemClock()
    const plans = fc.sample(anyPlan, isWhole ? 50 : 4)
    try {
      const played = await Promise.allSettled(
        plans.map(async (plan) => {
          const tableName = await createTestTable(client)
          await playPlan(plan, (local) => ({
            ...local,
            ...dynamodbPorts({ client, tableName, outputs: local.outputs, clock }),
          }))
        }),
      )
      expect(played.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))).toEqual([])
    } finally {
      client.destroy()
    }
  })
})
