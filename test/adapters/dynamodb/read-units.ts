import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'

/** Counts the read units that the engine reports for each request. */
export function countReadUnits(client: DynamoDBClient): { units: number } {
  const meter = { units: 0 }
  client.middlewareStack.add(
    (next) => async (request) => {
      Object.assign(request.input, { ReturnConsumedCapacity: 'TOTAL' })
      const response = await next(request)
      const { ConsumedCapacity: consumed } = response.output as {
        ConsumedCapacity?: { CapacityUnits?: number } | { CapacityUnits?: number }[]
      }
      for (const each of [consumed ?? []].flat()) meter.units += each.CapacityUnits ?? 0
      return response
    },
    { step: 'initialize', name: 'countReadUnits' },
  )
  return meter
}
