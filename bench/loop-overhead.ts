import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../functions/adapters/sqlite/database.ts'
import { mergeAll } from '../functions/adapters/sqlite/history-pending.ts'
import { createSqliteLogReader } from '../functions/adapters/sqlite/log-reader.ts'
import { createSqliteRunInbox } from '../functions/adapters/sqlite/run-inbox.ts'
import { createSqliteRunLease } from '../functions/adapters/sqlite/run-lease.ts'
import { createSqliteRunLog } from '../functions/adapters/sqlite/run-log.ts'
import { createSqliteSessionJanitor } from '../functions/adapters/sqlite/session-janitor.ts'
import { createSqliteSessionStore } from '../functions/adapters/sqlite/session-store.ts'
import { makeTool, setStage } from '../test/agent/stage.ts'
import type { Stage, Turn } from '../test/agent/stage.ts'
import { openRaw } from './made/raw-rounds.ts'
import type { Contender } from './made/raw-rounds.ts'
import { printTable, quantile, timed } from './report.ts'

/**
 * What the loop adds to a round: a model that answers at once, two parallel calls with 2 KB results, which end together and so
 * share a commit. Compared with inserting the same bytes into bare SQLite in as many transactions of the same durability (WAL,
 * synchronous FULL): the round with its calls, then both results. All take turns, so that what else the machine does hits all.
 *
 * The history index has two costs: documents in the commits of the log, and, when the process is idle or a search comes, their
 * words in the full-text tables. Their reference is inserting the same words into a bare FTS5 table.
 */
const WARM_UP = 15
const RUNS = 40
/** Runs after these, for what their documents cost later. */
const MERGES = 5
/** Rounds of a run before its final answer. */
const ROUNDS = 15
const RESULT = 'result '.repeat(293).slice(0, 2_048)
const ARGUMENTS = JSON.stringify({ query: 'q'.repeat(40) })

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-overhead-'))
const whole = await setLoop('loop on SQLite, indexed', undefined)
const bare = await setLoop('loop on SQLite, no index', withoutHistory)
const content = { argumentsText: ARGUMENTS, result: RESULT, rounds: ROUNDS - 1 }
const raw = openRaw(join(folder, 'raw.db'), content, { name: 'raw SQLite, 2 transactions' })
const apart = openRaw(join(folder, 'apart.db'), content, { name: 'raw SQLite, 3 transactions', apart: true })
const words = openRaw(join(folder, 'words.db'), content, { name: 'raw SQLite and FTS5, 2 transactions', words: true })
const contenders = [whole, bare, raw, apart, words]
const times = new Map<Contender, number[][]>(contenders.map((contender) => [contender, []]))
for (let run = 0; run < WARM_UP + RUNS; run++)
  for (const contender of contenders) {
    const rounds = await contender.run()
    if (run >= WARM_UP) times.get(contender)?.push(rounds)
  }
const merges = await timeMerge(whole.stage)
for (const contender of contenders) await contender.close()
rmSync(folder, { recursive: true })

const median = (rounds: readonly number[]): number => quantile(rounds, 0.5)
const p50 = (contender: Contender): number => median((times.get(contender) ?? []).flat())
/** The median of the run that other work on the machine disturbed least. */
const quietest = (contender: Contender): number => Math.min(...(times.get(contender) ?? []).map(median))
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
printTable(
  `Loop overhead: ${RUNS} runs of ${ROUNDS} rounds of two calls with 2 KB results, milliseconds a round`,
  ['', 'p50 of the quietest run', 'p50', 'p99', 'mean'],
  Array.from(times, ([contender, runs]) => {
    const rounds = runs.flat()
    return [contender.name, quietest(contender), p50(contender), quantile(rounds, 0.99), mean(rounds)]
  }),
)
const row = (name: string, left: Contender, right: Contender, against: string) => [
  name,
  quietest(left) - quietest(right),
  p50(left) - p50(right),
  against,
]
printTable(
  'Overhead, milliseconds a round',
  ['', 'quietest run', 'p50', 'against'],
  [
    row('loop with its index, in all', whole, raw, 'raw SQLite, as many transactions'),
    row('  the loop itself', bare, raw, 'raw SQLite, as many transactions'),
    row('  documents in the commits', whole, bare, 'the loop without an index'),
    row('  for comparison: words in raw FTS5', words, raw, 'raw SQLite, as many transactions'),
    ['later, words of a round', Math.min(...merges), median(merges), 'when idle, when many wait, or before a search'],
  ],
)
console.log(`overhead: ${(p50(whole) - p50(raw)).toFixed(3)} ms a round beside the fsyncs (aim: at most 1 ms)`)

async function setLoop(
  name: string,
  change: Parameters<typeof setStage>[0]['change'],
): Promise<Contender & { readonly stage: Stage }> {
  const calls = [1, 2].map((index) => ({ id: `call-${index}`, name: 'work', arguments: ARGUMENTS }))
  const turns: Turn[] = [...Array.from({ length: ROUNDS }, () => ({ text: 'Looking.', calls })), { text: 'done' }]
  const stage = await setStage({
    script: Array.from({ length: WARM_UP + RUNS + MERGES }, () => turns).flat(),
    tools: [makeTool('work', async () => ({ text: RESULT }))],
    ...(change === undefined ? {} : { change }),
  })
  let starts: number[] = []
  const seen = stage.events.push.bind(stage.events)
  stage.events.push = (...events) => {
    for (const event of events) if (event.type === 'round.started') starts.push(performance.now())
    return seen(...events)
  }
  let runs = 0
  return {
    name,
    stage,
    /** Milliseconds between the beginnings of successive rounds of a run in a session of its own. */
    async run() {
      starts = []
      const key = { tenant: 'default', session: `bench-${runs++}` }
      await stage.ports.sessions.create({ ...key, agent: 'default', metadata: {} })
      const submission = { parts: [{ type: 'text', text: 'go' }], clientTools: [] } as const
      const { runId } = await stage.backend.submit(key, submission, { here: true })
      for await (const event of stage.backend.follow(key, runId, { signal: AbortSignal.timeout(60_000) }))
        if (event.type === 'run.failed') throw new Error(`the run failed: ${event.run.error?.message}`)
      return starts.slice(1).map((start, index) => start - (starts[index] ?? 0))
    },
    close: () => stage.close(),
  }
}

/** The same loop on rows of their own that nothing is indexed of. */
function withoutHistory(ports: Stage['ports']): Stage['ports'] {
  const history = { documents: async () => [], write: () => undefined, remove: () => 0 }
  const rows = { database: openDatabase(join(folder, 'bare.db')), clock: ports.clock, history }
  return {
    ...ports,
    sessions: createSqliteSessionStore(rows),
    inbox: createSqliteRunInbox(rows),
    lease: createSqliteRunLease(rows),
    log: createSqliteRunLog(rows),
    reader: createSqliteLogReader(rows),
    janitor: createSqliteSessionJanitor(rows),
  }
}

/** Milliseconds a round of taking in what is pending, after some rounds have left it. */
async function timeMerge({ folder: data }: Stage): Promise<number[]> {
  const database = openDatabase(join(data, 'tooltrail.db'))
  mergeAll(database)
  const perRound: number[] = []
  for (let run = 0; run < MERGES; run++) {
    await whole.run()
    perRound.push((await timed(() => mergeAll(database))) / ROUNDS)
  }
  database.close()
  return perRound
}
