/* Evidence, limits: A key's streams are counted over all processes; a killed process's slots are released within
 * five minutes. */
/* Evidence, cloud: The synthesised templates and bundles work under Lambda's runtime client. */
/* Evidence, cloud: Each function has the permissions for its own requests, and no others. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { declareFacades } from '../e2e/rules/facades.ts'
import { withEngines } from '../engines/with-engines.ts'
import { synthesise } from './cloud/template/assembly.ts'
import type { Assembly } from './cloud/template/assembly.ts'
import { declareAccess } from './scenarios/access.ts'
import { declareChannels } from './scenarios/channels.ts'
import { declareHistory, deleteAndWriteLate } from './scenarios/history.ts'
import { declareImport } from './scenarios/import.ts'
import { declarePermissions } from './scenarios/permissions.ts'
import { declareDeadLetters } from './scenarios/dead-letters.ts'
import { declareRuns, killWorkerInTool } from './scenarios/runs.ts'
import type { KilledRun } from './scenarios/runs.ts'
import { declareNotifying } from './scenarios/notifying.ts'
import { declareTour } from './scenarios/tour.ts'
import { ENVIRONMENT, startSystem } from './system.ts'
import type { System } from './system.ts'

const START_MS = 900_000
const TEST_MS = 600_000

withEngines(['dynamodb', 's3', 'sqs', 'opensearch', 'lambda'], (engines) => {
  describe(
    `the deployed system for ${ENVIRONMENT}, with its functions and on the engines`,
    { timeout: TEST_MS },
    () => {
      let assembly: Assembly
      let system: System
      let killed: KilledRun

      beforeAll(async () => {
        assembly = await synthesise(ENVIRONMENT)
        system = await startSystem(assembly, engines)
        // The killed worker's lease stays valid for a minute. Other tests run during this minute.
        killed = await killWorkerInTool(system)
        await deleteAndWriteLate(system)
      }, START_MS)
      afterAll(async () => {
        await system?.remove()
        await assembly?.remove()
      }, START_MS)

      describe('the tour of the README', () => {
        declareTour(() => system)
      })
      describe('access, limits and responses', () => {
        declareAccess(() => system)
      })
      describe('dead letters', () => {
        declareDeadLetters(() => system)
      })
      describe('the end of sessions', () => {
        declareHistory(() => system)
      })
      describe('runs in the queue', () => {
        declareRuns(
          () => system,
          () => killed,
        )
      })

      describe('Slack, webhooks and callbacks', () => {
        declareChannels(() => system)
      })

      describe('clients of other formats', () => {
        declareFacades(() => ({
          client: system.client,
          key: system.client.headers['authorization']?.replace('Bearer ', '') ?? '',
          renew: async () =>
            void (await Promise.all([system.functions.Api.recycle(), system.functions.Worker.recycle()])),
        }))
      })

      describe('histories of other programs', () => {
        declareImport(() => system)
      })

      describe('logs and metrics', () => {
        declareNotifying(() => system)
      })

      test('no function has unfinished work after its response, and only the killed function fails', () => {
        for (const [name, pool] of Object.entries(system.functions)) {
          // A poll of the lease, twice a second, may be in flight. No code awaits this read.
          const left = pool.leftBehind.filter(({ action }) => action !== 'dynamodb:BatchGetItem')
          expect([name, left]).toStrictEqual([name, []])
          const killedOne = { errorType: 'Runtime.ExitError', message: expect.stringContaining('SIGKILL') }
          expect([name, pool.failures]).toMatchObject([name, name === 'Worker' ? [killedOne] : []])
        }
      })

      describe('the permissions of the functions', () => {
        declarePermissions(() => system)
      })
    },
  )
})
