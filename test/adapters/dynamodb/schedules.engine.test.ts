import { expect, test } from 'vitest'
import { explore } from '../../contracts/schedules/exploration.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { dynamodbEngine } from './engine.ts'

/** Runs alike everywhere; `explore-schedules.ts` beside this file looks further. */
const SEED = 20_260_105

withEngines(['dynamodb'], ({ dynamodb }) => {
  test('no schedule of holders, clients, crashes and late writes breaks a promise of the session protocol', async () => {
    const options = { schedules: 25, steps: 100, seed: SEED, shrink: false }
    const found = await explore(dynamodbEngine(dynamodb), options)
    const { failure } = found
    expect(failure === undefined ? '' : `${failure.message}\n${failure.trace.join('\n')}\nseed ${SEED}`).toBe('')
    expect(found.schedules).toBe(options.schedules)
  }, 600_000)
})
