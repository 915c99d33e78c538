import { definedFields } from '../../functions/domain/defined-fields.ts'
import { readOptions, wholeNumber } from '../../test/command-options.ts'
import { explore, type Kind } from '../../test/contracts/schedules/exploration.ts'
import { IMPORT_SCHEDULES } from '../../test/contracts/schedules/imports.ts'
import { SESSION_SCHEDULES } from '../../test/contracts/schedules/schedule.ts'
import { startEngine } from '../../test/engines/engines.ts'
import { dynamodbEngine } from '../../test/adapters/dynamodb/engine.ts'

const USAGE = `Explores schedules of the session protocol on DynamoDB Local until one breaks a promise, which is shown.

  npx node audit/exploration/explore-dynamodb-schedules.ts [--schedules <number>] [--steps <number>] [--seed <number>] [--path <path>]

--imports: schedules into which turns of other logs come.
`
const values = readOptions(
  USAGE,
  {
    schedules: { type: 'string', default: '500' },
    steps: { type: 'string', default: '120' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    path: { type: 'string' },
    imports: { type: 'boolean', default: false },
  },
  ({ schedules, steps, seed, ...others }) => ({
    schedules: wholeNumber('schedules', schedules, 1),
    steps: wholeNumber('steps', steps, 1),
    seed: wholeNumber('seed', seed),
    ...others,
  }),
)

const engine = await startEngine('dynamodb')
const kind: Kind<unknown> = values.imports ? IMPORT_SCHEDULES : SESSION_SCHEDULES
const begun = performance.now()
const { seed, schedules, steps, failure } = await explore(dynamodbEngine(engine.endpoint), kind, {
  schedules: values.schedules,
  seed: values.seed,
  steps: values.steps,
  shrink: false,
  ...definedFields({ path: values.path }),
})
await engine.stop()
const seconds = ((performance.now() - begun) / 1000).toFixed(1)
console.log(`${schedules} schedules, ${steps} steps, seed ${seed}, ${seconds} s`)
if (failure === undefined) console.log('no promise was broken')
else {
  console.log(`broken: ${failure.message}\nagain: --seed ${seed} --path ${failure.path}`)
  for (const line of failure.trace) console.log(`  ${line}`)
  process.exitCode = 1
}
