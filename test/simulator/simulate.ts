import { parseArgs } from 'node:util'
import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
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

/** Processes that were killed wait for ever for what never comes, and a thread keeps what they had until it ends. */
const SEEDS_A_THREAD = 250

interface Played {
  readonly steps: number
  /** Of the traces of all seeds so far. */
  readonly digest: number
  readonly broken: boolean
}

const options = { openStore: openSqliteStore, keepTrace: values.trace }

async function play(seed: string, { steps, digest }: Played): Promise<Played> {
  const script = generate(seed)
  const result = await simulate(script, options)
  const played = {
    steps: steps + result.steps,
    digest: (Math.imul(digest, 31) + result.digest) >>> 0,
    broken: result.violation !== undefined,
  }
  if (result.violation === undefined) {
    if (values.trace) console.log(result.trace.join('\n'))
    return played
  }
  console.log(`seed ${seed}: ${result.violation.message}`)
  const smallest = values.whole ? script : await shrink(script, result.violation.rule, options)
  const last = await simulate(smallest, { ...options, keepTrace: true })
  console.log(last.trace.join('\n'))
  console.log(
    `${smallest.operations.length} operations, ${smallest.faults.length} faults; again: --seed ${seed} --trace`,
  )
  console.log(JSON.stringify({ operations: smallest.operations, faults: smallest.faults }))
  return played
}

async function playInThread(seeds: readonly string[], before: Played): Promise<Played> {
  const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2), workerData: { seeds, before } })
  const [played] = (await once(worker, 'message')) as [Played]
  await once(worker, 'exit')
  return played
}

async function playAll(): Promise<void> {
  const seeds =
    values.seed === undefined
      ? Array.from({ length: Number(values.seeds) }, (_, number) => String(Number(values.from) + number))
      : [values.seed]
  const begun = performance.now()
  let played: Played = { steps: 0, digest: 0, broken: false }
  for (let at = 0; at < seeds.length && !played.broken; at += SEEDS_A_THREAD) {
    const some = seeds.slice(at, at + SEEDS_A_THREAD)
    played = await playInThread(some, played)
    const seconds = (performance.now() - begun) / 1_000
    console.log(
      `to seed ${some.at(-1)}: ${played.steps} steps in ${seconds.toFixed(1)} s, digest ${played.digest.toString(16)}`,
    )
  }
  if (played.broken) process.exitCode = 1
}

if (isMainThread) await playAll()
else {
  const { seeds, before } = workerData as { readonly seeds: readonly string[]; readonly before: Played }
  let played = before
  for (const seed of seeds) {
    played = await play(seed, played)
    if (played.broken) break
  }
  parentPort?.postMessage(played)
}
