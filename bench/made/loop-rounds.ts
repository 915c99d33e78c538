import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../functions/adapters/sqlite/database.ts'
import { projectionOn } from '../../test/adapters/sqlite/history/projection.ts'
import { createSqliteLogReader } from '../../functions/adapters/sqlite/log/messages/log-reader.ts'
import type { LogDependencies } from '../../functions/adapters/sqlite/log/write.ts'
import { createSqliteRunInbox } from '../../functions/adapters/sqlite/log/runs/run-inbox.ts'
import { createSqliteRunLease } from '../../functions/adapters/sqlite/log/runs/run-lease.ts'
import { createSqliteRunLog } from '../../functions/adapters/sqlite/log/runs/run-log.ts'
import { createSqliteSessionJanitor } from '../../functions/adapters/sqlite/log/sessions/session-janitor.ts'
import { createSqliteSessionStore } from '../../functions/adapters/sqlite/log/sessions/session-store.ts'
import { makeTool, openHarness } from '../../test/agent/harness.ts'
import type { Harness, Turn } from '../../test/agent/harness.ts'
import { timed } from '../report.ts'
import type { Contender, Content } from './contender.ts'

/** Maximum number of runs: the model's script has completions for this many runs. */
const MAX_RUNS = 1_000

/**
 * Opens the real loop on SQLite. Its model completes at once, and its tools end together. `indexed`: with the history
 * index. `synced`: each commit is synced to the disk, as in the program.
 */
export async function openLoop(
  content: Content,
  { indexed = true, synced = true }: { readonly indexed?: boolean; readonly synced?: boolean },
): Promise<Contender> {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-overhead-'))
  const database = openDatabase(join(folder, 'loop.db'))
  if (!synced) database.exec('PRAGMA synchronous = OFF')
  if (!indexed) database.exec('DROP TRIGGER markAdded; DROP TRIGGER markChanged; DROP TRIGGER unmarkRemoved')
  const history = projectionOn({
    database,
    outputs: { read: () => Promise.reject(new Error('nothing here is offloaded')) },
    report: (error) => console.error(error),
  })
  const harness = await openHarness({
    script: turnsOf(content),
    tools: [makeTool('work', async () => ({ text: content.result }))],
    change: (ports) => ({ ...ports, ...portsOn({ database, clock: ports.clock, history }) }),
  })
  let starts: number[] = []
  // This `push` stores no event. Otherwise, the harness's list of events would grow with every run.
  harness.events.push = (...events) => {
    for (const event of events) if (event.type === 'round.started') starts.push(performance.now())
    return 0
  }
  let runs = 0

  /** Executes a run in a new session. Returns the milliseconds between the starts of successive rounds. */
  async function run(): Promise<number[]> {
    starts = []
    const key = { tenant: 'default', session: `bench-${runs++}` }
    const session = await harness.ports.sessions.create({ ...key, agent: 'default', metadata: {} })
    const submission = { parts: [{ type: 'text', text: 'go' }], clientTools: [] } as const
    const { runId } = await harness.service.submit(session, submission, { here: true })
    for await (const event of harness.service.follow(key, runId, { signal: AbortSignal.timeout(60_000) }))
      if (event.type === 'run.failed') throw new Error(`the run failed: ${event.run.error?.message}`)
    harness.requests.length = 0
    return starts.slice(1).map((start, index) => start - (starts[index] ?? 0))
  }

  /** Indexes the pending documents of a run. Returns the duration in milliseconds. */
  async function later(): Promise<number | undefined> {
    if (!indexed) return undefined
    await history.merge()
    await run()
    return (await timed(() => history.merge())) / content.rounds
  }

  async function close(): Promise<void> {
    await harness.close()
    database.close()
    rmSync(folder, { recursive: true })
  }

  return { run, later, close }
}

/** Scripts the completions of `MAX_RUNS` runs: each run has `rounds` completions with two calls, then one without calls. */
function turnsOf({ said, argumentsText, rounds }: Content): readonly Turn[] {
  const calls = [1, 2].map((index) => ({ id: `call-${index}`, name: 'work', arguments: argumentsText }))
  const run: readonly Turn[] = [...Array.from({ length: rounds }, () => ({ text: said, calls })), { text: 'done' }]
  return Array.from({ length: MAX_RUNS }, () => run).flat()
}

function portsOn(rows: LogDependencies): Partial<Harness['ports']> {
  return {
    sessions: createSqliteSessionStore(rows),
    inbox: createSqliteRunInbox(rows),
    lease: createSqliteRunLease(rows),
    log: createSqliteRunLog(rows),
    reader: createSqliteLogReader(rows),
    janitor: createSqliteSessionJanitor(rows),
  }
}
