import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { readOptions, wholeNumber } from '../../test/command-options.ts'
import { startEngine } from '../../test/engines/engines.ts'
import type { Engine } from '../../test/engines/process.ts'
import { openDynamodbStore } from './world/dynamodb-store.ts'
import { withBetween } from './scripts/generate-between.ts'
import { generate } from './scripts/generate.ts'
import { shrink } from './scripts/shrink.ts'
import { simulate } from './simulation.ts'
import type { Options } from './simulation.ts'
import { openFileStore, openMemoryStore } from './world/stores.ts'

const USAGE = `Plays the agent floor in simulated processes over virtual time; a seed decides everything that happens.

  npm run simulate -- [--seeds <number>] [--from <number>]   plays so many seeds (100), beginning with this one (1)
  npm run simulate -- --seed <seed> [--trace]                plays one of them, and shows what happened
    --store memory|sqlite|dynamodb                           SQLite in memory (as a rule); in a file, which each process opens; or
                                                             DynamoDB, the one that DYNAMODB_ENDPOINT names or DynamoDB Local, which
                                                             is started: there each request that an adapter sends is a step

It ends with the first seed that breaks a promise: shows what happened in the shortest script that still breaks it, and how
to play it again. With --whole that script is not made shorter.
`
const values = readOptions(
  USAGE,
  {
    seeds: { type: 'string' },
    from: { type: 'string' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
    store: { type: 'string', default: 'memory' },
  },
  ({ seed, seeds, from, store, ...shown }) => {
    if (store !== 'memory' && store !== 'sqlite' && store !== 'dynamodb')
      throw new Error(`--store needs memory, sqlite or dynamodb, not '${store}'`)
    if (seed === '') throw new Error('--seed needs a seed')
    if (seed !== undefined && (seeds ?? from) !== undefined) throw new Error('either --seed, or --seeds and --from')
    const [count, first] = [wholeNumber('seeds', seeds ?? '100', 1), wholeNumber('from', from ?? '1')]
    return { seed, count, first, store, ...shown }
  },
)

/**
 * Number of seeds per worker thread. Killed processes wait for ever, so their memory is freed only when the thread
 * ends.
 */
const SEEDS_A_THREAD = 250

interface Played {
  readonly steps: number
  /** Digest of the traces of all seeds so far. */
  readonly digest: number
  readonly broken: boolean
}

/** Input of a worker thread. */
interface Task {
  readonly seeds: readonly string[]
  readonly before: Played
  /** Address of the DynamoDB engine to use. */
  readonly endpoint: string | undefined
}

async function play(seed: string, { steps, digest }: Played, endpoint: string | undefined): Promise<Played> {
  const script = endpoint === undefined ? generate(seed) : withBetween(generate(seed))
  const options = { openStore: storeAt(endpoint), keepTrace: values.trace }
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

function storeAt(endpoint: string | undefined): Options['openStore'] {
  if (endpoint !== undefined) return (_, outputs) => openDynamodbStore(endpoint, outputs)
  return values.store === 'sqlite' ? openFileStore : openMemoryStore
}

async function playInThread(task: Task): Promise<Played> {
  const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2), workerData: task })
  let played: Played | undefined
  worker.once('message', (message: Played) => (played = message))
  await once(worker, 'exit')
  if (played === undefined) throw new Error(`nothing came of seeds ${task.seeds[0]} to ${task.seeds.at(-1)}`)
  return played
}

async function playAll(endpoint: string | undefined): Promise<void> {
  const { seed, first } = values
  const count = seed === undefined ? values.count : 1
  const begun = performance.now()
  let played: Played = { steps: 0, digest: 0, broken: false }
  for (let at = 0; at < count && !played.broken; at += SEEDS_A_THREAD) {
    const next = Array.from({ length: Math.min(SEEDS_A_THREAD, count - at) }, (_, place) => String(first + at + place))
    const some = seed === undefined ? next : [seed]
    played = await playInThread({ seeds: some, before: played, endpoint })
    const seconds = (performance.now() - begun) / 1_000
    const where = played.broken ? 'broken off after' : `to seed ${some.at(-1)}:`
    console.log(`${where} ${played.steps} steps in ${seconds.toFixed(1)} s, digest ${played.digest.toString(16)}`)
  }
  if (played.broken) process.exitCode = 1
}

/**
 * Returns the DynamoDB engine that runs already, or starts one. If it cannot start, prints the reason and returns
 * undefined.
 */
async function engine(): Promise<Engine | undefined> {
  try {
    return await startEngine('dynamodb')
  } catch (error) {
    console.error(`DynamoDB is missing: ${(error as Error).message.trim()}. DYNAMODB_ENDPOINT names one that runs.`)
    process.exitCode = 2
    return undefined
  }
}

async function playOnDynamodb(): Promise<void> {
  const dynamodb = await engine()
  if (dynamodb === undefined) return
  try {
    await playAll(dynamodb.endpoint)
  } finally {
    await dynamodb.stop()
  }
}

if (isMainThread) await (values.store === 'dynamodb' ? playOnDynamodb() : playAll(undefined))
else {
  const { seeds, before, endpoint } = workerData as Task
  let played = before
  for (const seed of seeds) {
    played = await play(seed, played, endpoint)
    if (played.broken) break
  }
  parentPort?.postMessage(played)
}
