import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { yieldToEventLoop } from '../functions/domain/time/yield-to-event-loop.ts'
import { openDatabase, transaction } from '../functions/adapters/sqlite/database.ts'
import { insertMessage } from '../functions/adapters/sqlite/log/messages/message-rows.ts'
import { insertRun } from '../functions/adapters/sqlite/log/runs/run-rows.ts'
import { findSession } from '../functions/adapters/sqlite/log/sessions/session-rows.ts'
import { continueDeletion } from '../functions/agent/worker/delete-session.ts'
import { nextId, nextIds } from '../functions/domain/ids.ts'
import { acceptedRun } from '../functions/domain/runs/run-changes.ts'
import type { SessionKey } from '../functions/domain/session.ts'
import { openLocalPorts } from '../functions/runtime/local/ports.ts'
import { fillerText } from './made/filler-text.ts'
import { printTable, quantile } from './report.ts'

/**
 * Deletes a session of 50,000 messages on SQLite, and one of 5,000 messages in the same file. The command line may name
 * other sizes. Measures the time per message, and how long each tick blocks the event loop (aim: at most 50 ms). The
 * processor time of a tick counts only this process. On a shared machine, the elapsed time also includes waits for
 * other processes.
 */
const SIZES = (process.argv[2] ?? '5000,50000').split(',').map(Number)
const IDLE_MS = 5_000
const BATCH = 1_000

const folder = await mkdtemp(join(tmpdir(), 'tooltrail-bench-deletion-'))
const ports = openLocalPorts({ dataFolder: folder, logLevel: 'silent', modelSettings: {} })
const database = openDatabase(join(folder, 'tooltrail.db'))

async function fill(key: SessionKey, messages: number): Promise<void> {
  await ports.sessions.create({ ...key, agent: 'default', metadata: {} })
  const session = findSession(database, key)?.number ?? 0
  const now = Date.now()
  const accepted = acceptedRun(
    { agent: 'default', trigger: 'input', onBusy: 'queue', clientTools: [] },
    nextId(undefined, now),
    now,
  )
  const { number, run } = insertRun(database, session, { ...accepted, status: 'completed' })
  const ids = nextIds(undefined, now, messages)
  for (let from = 0; from < messages; from += BATCH)
    transaction(database, () => {
      for (const [place, id] of ids.slice(from, from + BATCH).entries()) {
        const text = fillerText(120, from + place)
        const common = { id, runId: run.id, agent: 'default', round: 0, createdAt: now }
        insertMessage(database, session, number, {
          ...common,
          role: 'user',
          parts: [{ type: 'text', text: `${text} ${id}` }],
        })
      }
    })
  const scope = { tenant: key.tenant }
  while ((await ports.index.search({ scope, text: 'zzz', filters: {}, limit: 1 })).incomplete === true);
}

interface LoopDelays {
  readonly elapsed: number[]
  readonly used: number[]
}

/** Measures each tick of the event loop during `work`: elapsed milliseconds, and milliseconds of processor time. */
async function delaysDuring(work: Promise<unknown>): Promise<LoopDelays> {
  const delays: LoopDelays = { elapsed: [], used: [] }
  let over = false
  void work.finally(() => (over = true)).catch(() => undefined)
  for (let [last, lastUsed] = [performance.now(), threadTime()]; !over;) {
    await yieldToEventLoop()
    const [now, used] = [performance.now(), threadTime()]
    delays.elapsed.push(now - last)
    delays.used.push(used - lastUsed)
    ;[last, lastUsed] = [now, used]
  }
  await work
  return delays
}

function threadTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

const most = (times: readonly number[]): number => times.reduce((longest, time) => Math.max(longest, time), 0)
const figures = ({ elapsed, used }: LoopDelays): number[] => [
  quantile(elapsed, 0.99),
  most(elapsed),
  quantile(used, 0.99),
  most(used),
]

const reference = await delaysDuring(sleep(IDLE_MS))
const rows: (string | number)[][] = [['none: the machine', '', '', ...figures(reference)]]
for (const size of SIZES) {
  const key = { tenant: 'default', session: `of-${size}` }
  await fill(key, size)
}
for (const size of SIZES) {
  const key = { tenant: 'default', session: `of-${size}` }
  await ports.deletion.tombstone(key)
  const begun = performance.now()
  const delays = await delaysDuring(continueDeletion(ports, key, Infinity))
  const seconds = (performance.now() - begun) / 1_000
  const { messages = 0 } = (await ports.deletion.state(key)) ?? {}
  rows.push([messages, seconds.toFixed(1), (seconds * 1_000) / size, ...figures(delays)])
}
printTable(
  'Deleting a session on SQLite',
  [
    'messages',
    'seconds',
    'ms a message',
    'event loop p99, ms',
    'at most, ms',
    'of the processor p99, ms',
    'at most, ms',
  ],
  rows,
)
database.close()
await ports.close()
await rm(folder, { recursive: true, force: true })
