/* Evidence, cloud: Schedules find no broken promise of the session protocol on DynamoDB. */
import { expect, test } from 'vitest'
import { explore } from '../../../contracts/schedules/exploration.ts'
import type { Kind } from '../../../contracts/schedules/exploration.ts'
import { IMPORT_SCHEDULES } from '../../../contracts/schedules/imports.ts'
import { SESSION_SCHEDULES } from '../../../contracts/schedules/schedule.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { isWhole } from '../../../whole.ts'
import { dynamodbEngine } from '../engine.ts'

/**
 * Seed of the schedules. All machines run the same sequence of schedules; a faster machine runs more of them.
 * `audit/exploration/explore-dynamodb-schedules.ts` tries other seeds.
 */
const SEED = 20_260_105
const BUDGET_MS = isWhole ? 120_000 : 5_000
/** Minimum number of schedules, also on a slow machine. */
const MIN_SCHEDULES = isWhole ? 5 : 3

withEngines(['dynamodb'], ({ dynamodb }) => {
  test.each([
    ['of holders, clients, crashes and late writes', SESSION_SCHEDULES as Kind<unknown>],
    ['with imported turns of other logs', IMPORT_SCHEDULES as Kind<unknown>],
  ])('no schedule %s breaks a promise of the session protocol', async (_what, kind) => {
    const options = { schedules: 500, budgetMs: BUDGET_MS, least: MIN_SCHEDULES, steps: 100, seed: SEED, shrink: false }
    const { failure, schedules, steps } = await explore(dynamodbEngine(dynamodb), kind, options)
    process.stdout.write(`${schedules} schedules on DynamoDB, ${steps} steps, seed ${SEED}\n`)
    expect(failure === undefined ? '' : `${failure.message}\n${failure.trace.join('\n')}\nseed ${SEED}`).toBe('')
    expect(schedules).toBeGreaterThanOrEqual(MIN_SCHEDULES)
  })
})
