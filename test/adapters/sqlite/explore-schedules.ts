import { parseArgs } from 'node:util'
import { sqliteMemoryEngine } from './engine.ts'
import { explore } from '../../contracts/schedules/exploration.ts'

/** Explores schedules on SQLite: `npx node test/adapters/sqlite/explore-schedules.ts --schedules 20000 --seed 1`. */
const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '20000' },
    steps: { type: 'string', default: '120' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    path: { type: 'string' },
  },
})

const begun = performance.now()
const { seed, schedules, steps, failure } = await explore(sqliteMemoryEngine(), {
  schedules: Number(values.schedules),
  seed: Number(values.seed),
  steps: Number(values.steps),
  shrink: true,
  ...(values.path === undefined ? {} : { path: values.path }),
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
