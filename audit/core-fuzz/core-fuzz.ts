import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { readOptions, wholeNumber } from '../../test/command-options.ts'
import { checkCounts, checkEvents, checkFork, checkInputs, checkLog } from './checks.ts'
import { checkFollower, startFollower } from './followers.ts'
import type { Follower } from './followers.ts'
import { operate, serve, waitingCalls } from './operations.ts'
import type { Accepted } from './operations.ts'
import { openWorld } from './world.ts'
import type { Settings, World } from './world.ts'

const USAGE = `Fuzzes the whole core: several processes on one store, a random model, a team three deep, client tools, approvals, sources,
summaries, imports, crashes, hand-offs, store errors, followers that leave at random. Prints what broke; \`0 problems\` is right.

  npx node audit/core-fuzz/core-fuzz.ts [--seed <number>] [--operations <number>] [--speed <number>] [--verbose]

--speed: the clock runs this many times as fast (40). Timing is real, so a seed does not repeat exactly.
--verbose: prints how often each operation ended how. DYNAMODB_ENDPOINT: on this DynamoDB; as a rule on SQLite.
`
const DRAIN_MS = 25_000

const { verbose, ...settings } = readOptions(
  USAGE,
  {
    seed: { type: 'string', default: '1' },
    operations: { type: 'string', default: '120' },
    speed: { type: 'string', default: '40' },
    verbose: { type: 'boolean', default: false },
  },
  ({ seed, operations, speed, ...shown }) => ({
    seed: wholeNumber('seed', seed),
    operations: wholeNumber('operations', operations, 1),
    speed: wholeNumber('speed', speed, 1),
    dynamodb: process.env['DYNAMODB_ENDPOINT'],
    ...shown,
  }),
)

/** Executes random operations. Followers are started at the same time. */
async function disturb(world: World, accepted: Accepted, { operations }: Settings): Promise<Follower[]> {
  const followers: Follower[] = []
  for (let index = 0; index < operations; index++) {
    world.failing = world.dice.chance(0.3) ? 0.03 : 0
    await operate(world, accepted, index)
    const follower = world.dice.chance(0.5) ? await startFollower(world, accepted) : undefined
    if (follower !== undefined) followers.push(follower)
    await sleep(world.dice.number() * 10)
  }
  world.failing = 0
  return followers
}

/** Resolves all waiting calls until no run is active or queued any more. */
async function drain(world: World): Promise<void> {
  const { dice, harness, living, attempt, report } = world
  const end = Date.now() + DRAIN_MS
  while (Date.now() < end) {
    const { activeRun, queued, paused, waiting } = await world.header()
    if (activeRun === undefined && queued === 0) return
    if (paused && waiting > 0) {
      const calls = waitingCalls(await world.log())
      if (calls.length !== waiting) report(`the header waits for ${waiting} calls; ${calls.length} rows wait`)
      for (const { id: messageId, runId, needs } of calls) {
        const resolution = needs === 'approval' ? { messageId, approve: false } : { messageId, error: 'no' }
        const { service } = dice.pick(living())
        await attempt('resolve', () => service.resolve(harness.session, runId, [resolution], { here: true }))
      }
    }
    void serve(world)
    await sleep(60)
  }
  report(`the session is not idle after ${DRAIN_MS} ms: ${JSON.stringify(await world.header())}`)
}

async function fuzz(world: World): Promise<string> {
  const { harness, problems } = world
  const accepted: Accepted = new Map()
  world.spawn()
  world.spawn()
  const followers = await disturb(world, accepted, settings)
  await drain(world)
  const log = await world.log()
  checkLog(world, log)
  await checkInputs(world, accepted, log)
  const { runs } = await harness.ports.reader.runs(harness.key, { limit: 1_000 })
  for (const run of runs) {
    checkCounts(world, run, log)
    if (run.status !== 'queued') await checkEvents(world, run, log)
  }
  for (const follower of followers) await checkFollower(world, follower)
  await checkFork(world, runs, log)
  const counts = `${log.length} messages, ${runs.length} runs, ${accepted.size} inputs`
  return `seed ${settings.seed}: ${counts}, ${problems.length} problems`
}

const world = await openWorld(settings)
const outcome = await fuzz(world)
if (verbose)
  for (const [name, count] of [...world.tally].toSorted(([left], [right]) => left.localeCompare(right)))
    console.log(`${count} ${name}`)
console.log(outcome)
rmSync(world.harness.folder, { recursive: true, force: true })
// Exits explicitly, because calls of killed processes never return.
process.exit(world.problems.length === 0 ? 0 : 1)
