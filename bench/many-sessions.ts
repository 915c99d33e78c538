import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLocalPorts } from '../functions/runtime/local/ports.ts'
import { printTable, quantile, timed } from './report.ts'

/**
 * A million sessions of 1,000 tenants on SQLite (or so many as the command line says): what a page of a tenant's, an owner's and an
 * agent's sessions, a look for what is due, a new session and an input take, beside the same with a thousandth of them. None may
 * depend on the number. A thousandth of the sessions has work that nobody does.
 */
const SESSIONS = Number(process.argv[2] ?? 1_000_000)
const TENANTS = 1_000
const BATCH = 1_000
const TIMES = 50

const folder = await mkdtemp(join(tmpdir(), 'tooltrail-bench-many-'))
const ports = openLocalPorts({ dataFolder: folder, logLevel: 'silent', modelSettings: {} })

async function create(number: number): Promise<void> {
  const key = { tenant: `t${number % TENANTS}`, session: `s${number}` }
  const owner = `o${Math.floor(number / TENANTS) % 10}`
  await ports.sessions.create({ ...key, agent: `a${number % 7}`, owner, metadata: {}, ttlDays: 30 })
  if (number % 1_000 === 7) await enqueue(key)
}

const enqueue = (key: { tenant: string; session: string }): Promise<unknown> =>
  ports.inbox.enqueue(key, {
    agent: 'a1',
    trigger: 'input',
    onBusy: 'queue',
    clientTools: [],
    input: { parts: [{ type: 'text', text: 'hello' }] },
  })

async function measure(work: (number: number) => Promise<unknown>): Promise<string> {
  const times: number[] = []
  for (let number = 0; number < TIMES; number++) times.push(await timed(() => work(number)))
  return `${quantile(times, 0.5).toFixed(2)} / ${quantile(times, 0.95).toFixed(2)}`
}

async function row(count: number): Promise<string[]> {
  const tenant = (number: number): string => `t${(number * 37) % TENANTS}`
  return [
    String(count),
    await measure((number) => ports.sessions.list({ tenant: tenant(number), limit: 20 })),
    await measure((number) => ports.sessions.list({ tenant: tenant(number), owner: 'o3', limit: 20 })),
    await measure((number) => ports.sessions.list({ tenant: tenant(number), agent: 'a3', limit: 20 })),
    await measure(() => ports.janitor.due(Date.now(), 100)),
    await measure(() => ports.janitor.expired(Date.now(), 100)),
    await measure((number) => create(count * 10 + number * TENANTS)),
    await measure((number) => enqueue({ tenant: `t${number}`, session: `s${number}` })),
  ]
}

const rows: string[][] = []
let made = 0
for (const count of [SESSIONS / 1_000, SESSIONS]) {
  for (; made < count; made += BATCH)
    await Promise.all(Array.from({ length: Math.min(BATCH, count - made) }, (_, number) => create(made + number)))
  rows.push(await row(count))
}
printTable(
  'Many sessions of 1,000 tenants on SQLite, milliseconds p50 / p95',
  ['sessions', 'a page', 'by owner', 'by agent', 'due', 'expired', 'a new session', 'an input'],
  rows,
)
await ports.close()
await rm(folder, { recursive: true, force: true })
