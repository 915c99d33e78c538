import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { readSettings } from '../functions/runtime/settings/config.ts'
import { openPorts } from '../functions/runtime/local/open-ports.ts'
import { indexContents } from '../test/history/index-contents.ts'
import { awsBackend } from '../test/e2e/backend/aws-backend.ts'
import { startAwsEngines } from '../test/e2e/backend/aws-engines.ts'
import type { Client, RunBody } from '../test/e2e/backend/client.ts'
import { createCrashBench } from '../test/e2e/crashes/crash-runner.ts'
import type { CrashBench } from '../test/e2e/crashes/crash-runner.ts'
import { randomNumbers } from '../test/e2e/crashes/parts/random-numbers.ts'
import { scriptedModel } from '../test/e2e/crashes/parts/scripted-model.ts'
import { audit } from '../audit/soak/audit.ts'
import { startFleet } from '../audit/soak/fleet.ts'
import { load } from '../audit/soak/load.ts'
import type { Accepted } from '../audit/soak/load.ts'
import { startOpenAiServer } from '../test/model-server/openai-server.ts'
import { printTable, quantile } from './report.ts'

/**
 * `npx node bench/soak.ts --minutes 30`: runs a steady load over HTTP on the engines, while programs are killed at
 * random. Each program is API, worker, sweeper and indexer in one. The engines are not killed. Leases have their real
 * duration: sessions of a killed program wait for up to 60 s.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: '4242' },
    rate: { type: 'string', default: '2' },
  },
})
const MINUTES = Number(values.minutes)
const SEED = Number(values.seed)
const PER_SECOND = Number(values.rate)
const PROGRAMS = 3
const GAP_MS = [5_000, 40_000] as const
/** Maximum duration of a completion. */
const MAX_COMPLETION_MS = 400
const SETTLE_MS = 600_000
const STEADY_MS = 6_000
const ENDED: readonly string[] = ['completed', 'failed', 'cancelled']

const engines = await startAwsEngines('the soak')
if (engines === undefined) process.exit()
const { opensearch } = engines.endpoints
const random = randomNumbers(SEED)
const model = await startOpenAiServer(async (request) => {
  await sleep(random() * MAX_COMPLETION_MS)
  return scriptedModel(request)
})
const bench = await createCrashBench(model.baseUrl, awsBackend(engines.endpoints))
const { env } = bench.place
try {
  process.exitCode = (await soak()) ? 0 : 1
} finally {
  await bench.remove()
  await model.close()
  await engines.stop()
}

/** Runs the load. Returns whether all promises were kept. */
async function soak(): Promise<boolean> {
  const fleet = await startFleet({
    size: PROGRAMS,
    start: () => startWithRetries(bench),
    random: randomNumbers(SEED + 1),
    gapMs: GAP_MS,
  })
  try {
    const signal = AbortSignal.timeout(MINUTES * 60_000)
    const reported = await load({ fleet, perSecond: PER_SECOND, random: randomNumbers(SEED + 2), signal })
    await fleet.calm()
    const settled = await untilEnded(fleet.any(), reported.accepted)
    const found = await audit(fleet.any(), reported, bench.effects)
    const index = await untilSteady()
    const differences = await comparedWithRebuild(index)
    for (const problem of [...found.lost, ...found.doubled, ...found.forks].slice(0, 20)) console.error(problem)
    printTable(
      `${MINUTES} minutes of ${PER_SECOND} inputs a second on ${PROGRAMS} programs (seed ${SEED})`,
      ['', 'value'],
      [
        ['inputs accepted', reported.accepted.length],
        ['inputs given up by their client', reported.refused],
        ['runs', found.runs],
        ['runs ended', found.ended],
        ['of them failed: crashed three times', found.failed],
        ['entries lost', found.lost.length],
        ['calls or inputs doubled', found.doubled.length],
        ['log forks', found.forks.length],
        [`index documents that differ from a rebuild, of ${index.size}`, differences],
        ['wait from acceptance to end, p50, ms', quantile(found.waits, 0.5)],
        ['wait from acceptance to end, p99, ms', quantile(found.waits, 0.99)],
        ['settled after the last kill, s', settled / 1_000],
        ...[...fleet.endings].map(([name, count]): [string, number] => [`programs ${name}`, count]),
      ],
    )
    const broken = found.lost.length + found.doubled.length + found.forks.length + differences
    return broken === 0 && found.ended === found.runs && found.runs === reported.accepted.length
  } finally {
    await fleet.close()
  }
}

/** Starts a program. Retries if it does not start in time on a busy machine. */
async function startWithRetries({ start }: CrashBench): ReturnType<CrashBench['start']> {
  try {
    return await start()
  } catch (error) {
    console.error(String(error))
    return start()
  }
}

/**
 * Waits until the run of every accepted input has ended, or until the time limit. Returns the duration in milliseconds.
 */
async function untilEnded(client: Client, accepted: readonly Accepted[]): Promise<number> {
  const begun = Date.now()
  for (const session of new Set(accepted.map((one) => one.session)))
    while (Date.now() - begun < SETTLE_MS) {
      const runs = await client.all<RunBody>(`/v1/sessions/${session}/runs?limit=100`)
      if (runs.every((run) => ENDED.includes(run.status))) break
      await sleep(500)
    }
  return Date.now() - begun
}

/** Waits until the index no longer changes, and returns its contents. */
async function untilSteady(): Promise<Map<string, object>> {
  const alias = env['TOOLTRAIL_INDEX'] ?? ''
  let last = await indexContents(opensearch, alias)
  for (const deadline = Date.now() + SETTLE_MS; Date.now() < deadline;) {
    await sleep(STEADY_MS)
    const now = await indexContents(opensearch, alias)
    if (differing(last, now) === 0) return now
    last = now
  }
  return last
}

async function comparedWithRebuild(index: ReadonlyMap<string, object>): Promise<number> {
  const ports = await openPorts(readSettings({ ...env, LOG_LEVEL: 'warn' }))
  try {
    await ports.rebuildHistory()
    return differing(index, await indexContents(opensearch, env['TOOLTRAIL_INDEX'] ?? ''))
  } finally {
    await ports.close()
  }
}

function differing(left: ReadonlyMap<string, object>, right: ReadonlyMap<string, object>): number {
  const ids = new Set([...left.keys(), ...right.keys()])
  return [...ids].filter((id) => JSON.stringify(left.get(id)) !== JSON.stringify(right.get(id))).length
}
