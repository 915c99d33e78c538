import { DynamoDBServiceException } from '@aws-sdk/client-dynamodb'
import { describe, expect, test } from 'vitest'
import { createRetry } from '../../../functions/adapters/dynamodb/retry.ts'
import { createManualClock } from '../../contracts/stores.ts'

const failure = (name: string, httpStatusCode: number): DynamoDBServiceException =>
  new DynamoDBServiceException({ name, message: 'made by a test', $fault: 'server', $metadata: { httpStatusCode } })

/** Runs a request whose every attempt fails after `eachMs` milliseconds. */
async function fails(error: Error, eachMs: number): Promise<{ attempts: number; failed: unknown }> {
  const clock = createManualClock()
  let attempts = 0
  const failed = await createRetry(clock)('write', async () => {
    attempts += 1
    clock.advance(eachMs)
    throw error
  }).catch((caught: unknown) => caught)
  return { attempts, failed }
}

describe('a request to DynamoDB', () => {
  test.each([
    ['throttling', failure('ProvisionedThroughputExceededException', 400)],
    ['an internal error', failure('InternalServerError', 500)],
    ['a cut connection', new Error('socket hang up')],
  ])('is repeated a few times after %s, and then fails with that error', async (_name, error) => {
    const { attempts, failed } = await fails(error, 5)
    expect(attempts).toBe(9)
    expect(failed).toMatchObject({
      code: 'storage_failed',
      retryable: true,
      message: `DynamoDB could not write: ${error.name}: ${error.message}`,
      cause: error,
    })
  })

  test('fails within half a minute, before a lease expires, if no response arrives', async () => {
    const { attempts, failed } = await fails(new Error('no response within 10000 ms'), 10_000)
    expect(attempts).toBe(2)
    expect(failed).toMatchObject({ code: 'storage_failed', retryable: true })
  })

  test('is not repeated if the request itself was invalid', async () => {
    const { attempts, failed } = await fails(failure('ValidationException', 400), 5)
    expect(attempts).toBe(1)
    expect(failed).toMatchObject({ code: 'storage_failed', retryable: false })
  })
})
