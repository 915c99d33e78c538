import { expect, test } from 'vitest'
import { withEngines } from '../engines/with-engines.ts'
import { openDynamodbStore } from './dynamodb-store.ts'
import { generate } from './generate.ts'
import { simulate } from './simulation.ts'

/** No further seed is begun after so many milliseconds, once `LEAST` have been played. */
const BUDGET_MS = 40_000
const LEAST = 2

withEngines(['dynamodb'], ({ dynamodb }) => {
  test('no simulation on DynamoDB breaks a promise', async () => {
    const end = performance.now() + BUDGET_MS
    let [seeds, steps] = [0, 0]
    while (seeds < LEAST || performance.now() < end) {
      const seed = String(++seeds)
      const openStore = () => openDynamodbStore(dynamodb)
      const result = await simulate(generate(seed), { openStore, keepTrace: true })
      steps += result.steps
      expect(result.violation?.message, `seed ${seed}\n${result.trace.join('\n')}`).toBeUndefined()
    }
    process.stdout.write(`${seeds} simulations on DynamoDB, ${steps} steps\n`)
  }, 240_000)
})
