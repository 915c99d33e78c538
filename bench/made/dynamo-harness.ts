import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'
import { createAwsStores } from '../../functions/runtime/aws/stores.ts'
import { createTestTable } from '../../test/adapters/dynamodb/engine.ts'
import { openHarness } from '../../test/agent/harness.ts'
import { startEngine } from '../../test/engines/engines.ts'
import { createDynamoMeter } from './dynamo-meter.ts'
import type { MeteredRequest } from './dynamo-meter.ts'

const WRITES = new Set(['TransactWriteItems', 'UpdateItem', 'PutItem', 'DeleteItem'])

export const isWrite = ({ name }: MeteredRequest): boolean => WRITES.has(name)

/**
 * Opens the real loop on DynamoDB Local, with a meter that measures all requests. If DynamoDB Local cannot be started,
 * prints the reason and ends the process.
 */
export async function openDynamoHarness(options: Parameters<typeof openHarness>[0]) {
  const engine = await startEngine('dynamodb').catch((error: unknown) => {
    console.log(`left out: DynamoDB Local cannot be started: ${String(error)}`)
    process.exit(0)
  })
  const meter = createDynamoMeter(engine.endpoint)
  // The table has no stream, because the records of a stream would slow down the engine.
  const table = await createTestTable(meter.client)
  const harness = await openHarness({
    ...options,
    change(local) {
      const { outputs } = local
      const stores = createAwsStores({ dynamodb: meter.client, outputs, table, clock: createSystemClock() })
      return { ...local, ...stores.ports }
    },
  })
  await harness.ports.sessions.create({ ...harness.key, agent: 'default', owner: 'somebody', metadata: {} })
  return {
    ...harness,
    meter,
    async close() {
      await harness.close()
      meter.close()
      await engine.stop()
    },
  }
}
