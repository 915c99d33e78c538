import { parseArgs } from 'node:util'
import { explore } from '../../contracts/schedules/exploration.ts'
import { sqliteMemoryEngine } from './engine.ts'
import { GUARDS } from './guards.ts'
import { loadWithout } from './without-guard.ts'

/**
 * Takes out one guard of the SQLite adapter after the other and looks for a schedule that notices:
 * `npx node test/adapters/sqlite/explore-guards.ts`. One of them again, and what happened:
 * `--guard 'pause: no cancel' --seed 1 --path 1377 --trace`.
 */
const { values } = parseArgs({
  options: {
    guard: { type: 'string', default: '' },
    schedules: { type: 'string', default: '4000' },
    seed: { type: 'string', default: '1' },
    path: { type: 'string' },
    trace: { type: 'boolean', default: false },
  },
})

console.log('| without | noticed by schedule | broken promise |\n|---|---|---|')
let unnoticed = 0
for (const guard of GUARDS.filter(({ name }) => name.includes(values.guard))) {
  const { modules, remove } = await loadWithout(guard)
  const { failure } = await explore(sqliteMemoryEngine(modules), {
    // Where no schedule can tell, looking long does not help.
    schedules: Number(values.schedules) / (guard.backedBy === undefined ? 1 : 5),
    seed: Number(values.seed),
    steps: 120,
    shrink: false,
    ...(values.path === undefined ? {} : { path: values.path }),
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
