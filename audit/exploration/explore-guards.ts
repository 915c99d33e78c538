import { definedFields } from '../../functions/domain/defined-fields.ts'
import { readOptions, wholeNumber } from '../../test/command-options.ts'
import { explore } from '../../test/contracts/schedules/exploration.ts'
import { SESSION_SCHEDULES } from '../../test/contracts/schedules/schedule.ts'
import { sqliteMemoryEngine } from '../../test/adapters/sqlite/engine.ts'
import { deliverySchedules } from '../../test/contracts/schedules/deliveries/schedule.ts'
import type { DeliveryCode } from '../../test/contracts/schedules/deliveries/world.ts'
import type { Kind } from '../../test/contracts/schedules/exploration.ts'
import { DELIVERY_GUARDS } from './delivery-guards.ts'
import { GUARDS } from './guards.ts'
import { loadWithout } from './without-guard.ts'

/** Every guard, with the kind of schedules that can detect its absence. */
const all = [
  ...GUARDS.map((guard) => ({ guard, kindOf: () => SESSION_SCHEDULES as Kind<unknown> })),
  ...DELIVERY_GUARDS.map((guard) => ({
    guard,
    kindOf: (code: DeliveryCode) => deliverySchedules(code) as Kind<unknown>,
  })),
]

const USAGE = `Takes out one guard of the SQLite adapter and of deliveries after the other, and looks for a schedule that notices.

  npx node audit/exploration/explore-guards.ts [--guard <part of a name>] [--schedules <number>] [--seed <number>]
  npx node audit/exploration/explore-guards.ts --guard <name> --seed <number> --path <path> --trace

The second shows what happened in one schedule. Those of deliveries alone: --guard delivery.
`
const values = readOptions(
  USAGE,
  {
    guard: { type: 'string', default: '' },
    schedules: { type: 'string', default: '4000' },
    seed: { type: 'string', default: '1' },
    path: { type: 'string' },
    trace: { type: 'boolean', default: false },
  },
  ({ guard: part, schedules, seed, ...others }) => {
    const wanted = all.filter(({ guard }) => guard.name.includes(part))
    if (wanted.length === 0) throw new Error(`no guard has '${part}' in its name`)
    return { wanted, schedules: wholeNumber('schedules', schedules, 1), seed: wholeNumber('seed', seed), ...others }
  },
)

console.log('| without | noticed by schedule | broken promise |\n|---|---|---|')
let unnoticed = 0
for (const { guard, kindOf } of values.wanted) {
  const { modules, delivery, remove } = await loadWithout(guard)
  const { failure } = await explore(sqliteMemoryEngine(modules), kindOf(delivery), {
    // If no schedule can detect that the guard is missing, only a fifth of the schedules run.
    schedules: values.schedules / (guard.backedBy === undefined ? 1 : 5),
    seed: values.seed,
    steps: 120,
    shrink: false,
    ...definedFields({ path: values.path }),
  })
  await remove()
  const { name, backedBy } = guard
  if (failure !== undefined) {
    console.log(`| ${name} | ${values.seed}:${failure.path} | ${failure.rule} |`)
    if (values.trace) for (const line of [failure.message, ...failure.trace]) console.log(`    ${line}`)
  } else if (backedBy !== undefined) console.log(`| ${name} | none, backed by "${backedBy}" | |`)
  else {
    unnoticed++
    console.log(`| ${name} | NONE of ${values.schedules} | |`)
  }
}
if (unnoticed > 0) process.exitCode = 1
