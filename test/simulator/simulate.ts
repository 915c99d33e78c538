import { parseArgs } from 'node:util'
import { generate } from './generate.ts'
import { shrink } from './shrink.ts'
import { simulate } from './simulation.ts'
import { openSqliteStore } from './stores.ts'

/** Plays seeds: `npm run simulate -- --seeds 200`; one again, step by step: `--seed 17 --trace`. */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
  },
})

const options = { openStore: openSqliteStore, keepTrace: values.trace }
const seeds =
  values.seed === undefined
    ? Array.from({ length: Number(values.seeds) }, (_, number) => String(Number(values.from) + number))
    : [values.seed]

const begun = performance.now()
let steps = 0
let digest = 0
for (const seed of seeds) {
  const script = generate(seed)
  const result = await simulate(script, options)
  steps += result.steps
  digest = (Math.imul(digest, 31) + result.digest) >>> 0
  if (result.violation === undefined) {
    if (values.trace) console.log(result.trace.join('\n'))
    continue
  }
  console.log(`seed ${seed}: ${result.violation.message}`)
  const smallest = values.whole ? script : await shrink(script, result.violation.rule, options)
  const last = await simulate(smallest, { ...options, keepTrace: true })
  console.log(last.trace.join('\n'))
  console.log(
    `${smallest.operations.length} operations, ${smallest.faults.length} faults; again: --seed ${seed} --trace`,
  )
  console.log(JSON.stringify({ operations: smallest.operations, faults: smallest.faults }))
  process.exitCode = 1
  break
}
const seconds = (performance.now() - begun) / 1_000
console.log(`${steps} steps in ${seconds.toFixed(1)} s, digest ${digest.toString(16)}`)
