import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { withEngines } from '../../test/engines/with-engines.ts'
import { isWhole } from '../../test/whole.ts'
import { openDynamodbStore } from './world/dynamodb-store.ts'
import { withBetween } from './scripts/generate-between.ts'
import { generate } from './scripts/generate.ts'
import { simulate } from './simulation.ts'
import type { Options } from './simulation.ts'

const execute = promisify(execFile)

/** No further seed starts after this time in ms. At least `MIN_SEEDS` run in any case. */
const BUDGET_MS = isWhole ? 25_000 : 4_000
const MIN_SEEDS = isWhole ? 2 : 1

/** Seed of a simulation in which writes of other processes land during the calls of a port. */
const SHORT = '4'

withEngines(['dynamodb'], ({ dynamodb }) => {
  const openStore: Options['openStore'] = (_, outputs) => openDynamodbStore(dynamodb, outputs)

  // The simulator runs in a separate process. In this process, the test's late imports would take real time, which the
  // seed does not determine.
  test('two runs of a seed give the same trace on DynamoDB, although its response times vary', async () => {
    const args = ['audit/simulator/simulate.ts', '--store', 'dynamodb', '--seed', SHORT, '--trace']
    const env = { ...process.env, DYNAMODB_ENDPOINT: dynamodb }
    const play = async () => (await execute(process.execPath, args, { env })).stdout.replace(/ in [\d.]+ s,/, '')
    const first = await play()
    expect(first).toMatch(/lease.start lands in .* log.endRun/)
    expect(await play()).toBe(first)
  })

  test('no simulation on DynamoDB breaks a promise', async () => {
    const end = performance.now() + BUDGET_MS
    let [seeds, steps] = [0, 0]
    while (seeds < MIN_SEEDS || performance.now() < end) {
      const seed = String(++seeds)
      const result = await simulate(withBetween(generate(seed)), { openStore, keepTrace: true })
      steps += result.steps
      expect(result.violation?.message, `seed ${seed}\n${result.trace.join('\n')}`).toBeUndefined()
    }
    process.stdout.write(`${seeds} simulations on DynamoDB, ${steps} steps\n`)
  })
})
