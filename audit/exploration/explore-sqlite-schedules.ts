import { definedFields } from '../../functions/domain/defined-fields.ts'
import { readOptions, wholeNumber } from '../../test/command-options.ts'
import { createDeliveryDriver } from '../../functions/delivery/driver.ts'
import { hintDueDeliveries } from '../../functions/delivery/due-deliveries.ts'
import { deliverySchedules } from '../../test/contracts/schedules/deliveries/schedule.ts'
import type { Kind } from '../../test/contracts/schedules/exploration.ts'
import { sqliteMemoryEngine } from '../../test/adapters/sqlite/engine.ts'
import { explore } from '../../test/contracts/schedules/exploration.ts'
import { IMPORT_SCHEDULES } from '../../test/contracts/schedules/imports.ts'
import { SESSION_SCHEDULES } from '../../test/contracts/schedules/schedule.ts'

const USAGE = `Explores schedules of the session protocol on SQLite until one breaks a promise, which is made small and shown.

  npx node audit/exploration/explore-sqlite-schedules.ts [--schedules <number>] [--steps <number>] [--seed <number>] [--path <path>]

--deliveries: schedules of what runs owe to channels. --imports: those into which turns of other logs come.
`
const values = readOptions(
  USAGE,
  {
    schedules: { type: 'string', default: '20000' },
    steps: { type: 'string', default: '120' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    path: { type: 'string' },
    deliveries: { type: 'boolean', default: false },
    imports: { type: 'boolean', default: false },
  },
  ({ schedules, steps, seed, ...others }) => ({
    schedules: wholeNumber('schedules', schedules, 1),
    steps: wholeNumber('steps', steps, 1),
    seed: wholeNumber('seed', seed),
    ...others,
  }),
)

const code = { createDeliveryDriver, hintDueDeliveries }
const sessions: Kind<unknown> = values.imports ? IMPORT_SCHEDULES : SESSION_SCHEDULES
const kind: Kind<unknown> = values.deliveries ? deliverySchedules(code) : sessions
const begun = performance.now()
const { seed, schedules, steps, failure } = await explore(sqliteMemoryEngine(), kind, {
  schedules: values.schedules,
  seed: values.seed,
  steps: values.steps,
  shrink: true,
  ...definedFields({ path: values.path }),
})
const seconds = ((performance.now() - begun) / 1000).toFixed(1)
console.log(`${schedules} schedules, ${steps} steps, seed ${seed}, ${seconds} s`)
if (failure === undefined) console.log('no promise was broken')
else {
  console.log(`broken: ${failure.message}\nagain: --seed ${seed} --path ${failure.path}`)
  for (const line of failure.trace) console.log(`  ${line}`)
  console.log(JSON.stringify(failure.schedule))
  process.exitCode = 1
}
