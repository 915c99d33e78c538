import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { withEngines } from '../../test/engines/with-engines.ts'

const execute = promisify(execFile)

/** Seed of a simulation in which writes of other processes land during the calls of a port. */
const SHORT = '4'

withEngines(['dynamodb'], ({ dynamodb }) => {
  // The simulator runs in a separate process. In this process, the test's late imports would take real time, which the
  // seed does not determine. The process fails if a promise is broken.
  test('simulations of one seed on DynamoDB break no promise and give one trace, whatever the response times', async () => {
    const args = ['audit/simulator/simulate.ts', '--store', 'dynamodb', '--seed', SHORT, '--trace']
    const env = { ...process.env, DYNAMODB_ENDPOINT: dynamodb }
    const play = async () => (await execute(process.execPath, args, { env })).stdout.replace(/ in [\d.]+ s,/, '')
    const first = await play()
    expect(first).toMatch(/lease.start lands in .* log.endRun/)
    expect(await play()).toBe(first)
  })
})
