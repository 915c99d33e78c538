import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeTool, setStage } from '../test/agent/stage.ts'
import type { Turn } from '../test/agent/stage.ts'
import { printTable, quantile } from './report.ts'

/**
 * What the loop adds to a round: a model that answers at once, two parallel calls with 2 KB results. Compared with inserting
 * the same bytes in as many transactions of the same durability (WAL, synchronous FULL) into bare SQLite.
 */
const WARM_UP = 5
const RUNS = 20
/** Rounds of a run before its final answer. */
const ROUNDS = 15
const RESULT = 'result '.repeat(293).slice(0, 2_048)
const ARGUMENTS = JSON.stringify({ query: 'q'.repeat(40) })

const rounds = await loopRounds()
const raw = rawRounds()
const row = (name: string, values: readonly number[]) => [name, quantile(values, 0.5), quantile(values, 0.99)]
const overhead = quantile(rounds, 0.5) - quantile(raw, 0.5)
printTable(
  `Loop overhead: ${RUNS} runs of ${ROUNDS} rounds of two calls with 2 KB results, milliseconds a round`,
  ['', 'p50', 'p99'],
  [row('loop on SQLite', rounds), row('raw SQLite, same bytes and transactions', raw), ['overhead', overhead, '']],
)
console.log(`overhead: ${overhead.toFixed(3)} ms a round beside the fsyncs (aim: at most 1 ms)`)

/** Milliseconds between the beginnings of successive rounds, each run in a session of its own; the first runs warm up. */
async function loopRounds(): Promise<number[]> {
  const calls = [1, 2].map((index) => ({ id: `call-${index}`, name: 'work', arguments: ARGUMENTS }))
  const turns: Turn[] = [...Array.from({ length: ROUNDS }, () => ({ text: 'Looking.', calls })), { text: 'done' }]
  const stage = await setStage({
    script: Array.from({ length: WARM_UP + RUNS }, () => turns).flat(),
    tools: [makeTool('work', async () => ({ text: RESULT }))],
  })
  let starts: number[] = []
  const seen = stage.events.push.bind(stage.events)
  stage.events.push = (...events) => {
    for (const event of events) if (event.type === 'round.started') starts.push(performance.now())
    return seen(...events)
  }
  const times: number[] = []
  for (let run = 0; run < WARM_UP + RUNS; run++) {
    starts = []
    const key = { tenant: 'default', session: `bench-${run}` }
    await stage.ports.sessions.create({ ...key, agent: 'default', metadata: {} })
    const submission = { parts: [{ type: 'text', text: 'go' }], clientTools: [] } as const
    const { runId } = await stage.backend.submit(key, submission, { here: true })
    for await (const event of stage.backend.follow(key, runId, { signal: AbortSignal.timeout(60_000) }))
      if (event.type === 'run.failed') throw new Error(`the run failed: ${event.run.error?.message}`)
    if (run >= WARM_UP) times.push(...starts.slice(1).map((start, index) => start - (starts[index] ?? 0)))
  }
  await stage.close()
  return times
}

function rawRounds(): number[] {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-raw-'))
  const database = new DatabaseSync(join(folder, 'raw.db'))
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)',
  )
  const insert = database.prepare('INSERT INTO rows (body) VALUES (?)')
  const update = database.prepare('UPDATE rows SET body = ? WHERE id = ?')
  const transaction = (work: () => void): void => {
    database.exec('BEGIN IMMEDIATE')
    work()
    database.exec('COMMIT')
  }
  const times = Array.from({ length: RUNS * ROUNDS }, (_, round) => {
    const begun = performance.now()
    transaction(() => {
      insert.run(`Looking.${ARGUMENTS}${ARGUMENTS}`)
      insert.run(ARGUMENTS)
      insert.run(ARGUMENTS)
    })
    for (const place of [2, 3]) transaction(() => update.run(RESULT, round * 3 + place))
    return performance.now() - begun
  })
  database.close()
  rmSync(folder, { recursive: true })
  return times
}
