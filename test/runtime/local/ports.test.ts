/* Evidence, search: At its start, a program indexes the messages that a killed program left unindexed. */
/* Evidence, durability: On one machine, no file contains texts of a deleted session some seconds after its deletion. */
/* Evidence, durability: On one machine, a killed program's run resumes as soon as the next program starts. */
/* Evidence, durability: A starting program does not take over the runs of living or suspended processes. */
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDatabase, readOne } from '../../../functions/adapters/sqlite/database.ts'
import { LEASE_MS } from '../../../functions/domain/session.ts'
import { openLocalPorts } from '../../../functions/runtime/local/ports.ts'
import { DATABASE } from '../../../functions/runtime/local/private-data.ts'
import { storeMessages } from '../../adapters/sqlite/log/stored-messages.ts'
import { newRun } from '../../contracts/session-fixture.ts'
import { until } from '../../eventually.ts'
import { writeLog } from '../../generators/messages.ts'

let dataFolder: string
beforeEach(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), 'tooltrail-ports-'))
})
afterEach(() => rm(dataFolder, { recursive: true, force: true }))

test('messages that a killed program has not indexed are indexed at the next start, before any request', async () => {
  const killed = openDatabase(join(dataFolder, DATABASE))
  storeMessages(killed, { tenant: 'acme', session: 's' }, writeLog().user('zebra').log)
  const left = () => readOne<{ n: number }>(killed, 'SELECT count(*) AS n FROM historyMarks')?.n
  expect(left()).toBe(1)
  const ports = openLocalPorts({ dataFolder, logLevel: 'error', modelSettings: {} })
  try {
    await until(() => left() === 0)
  } finally {
    await ports.close()
    killed.close()
  }
})

test('the write-ahead log of a killed program is emptied soon after the next start', async () => {
  const killed = openDatabase(join(dataFolder, DATABASE))
  storeMessages(killed, { tenant: 'acme', session: 's' }, writeLog().user('zebra').log)
  const left = join(dataFolder, 'left')
  for (const file of [DATABASE, `${DATABASE}-wal`]) await cp(join(dataFolder, file), join(left, file))
  killed.close()
  const ports = openLocalPorts({ dataFolder: left, logLevel: 'error', modelSettings: {} })
  try {
    const size = () => statSync(join(left, `${DATABASE}-wal`)).size
    expect(size()).toBeGreaterThan(0)
    await expect.poll(size).toBe(0)
  } finally {
    await ports.close()
  }
})

const KEY = { tenant: 'acme', session: 's' }
const open = () => openLocalPorts({ dataFolder, logLevel: 'silent', modelSettings: {} })
type Opened = ReturnType<typeof open>

/** Starts a run in a new session. */
async function startRun({ sessions, inbox }: Opened, key = KEY) {
  await sessions.create({ agent: 'default', metadata: {}, ...key })
  const { started } = await inbox.enqueue(key, newRun({ agent: 'default', startAs: 'nonce' }))
  if (started === undefined) throw new Error('the run was not started')
  return started
}

const locks = () => readdirSync(join(dataFolder, 'processes'))

/** Makes an ended process, which holds no lock, the owner of all leases. */
function endHolder(): void {
  const [ended, left] = ['00000000-0000-4000-8000-000000000000', openDatabase(join(dataFolder, DATABASE))]
  left.exec(`UPDATE sessions SET leaseOwner = '${ended}' || substr(leaseOwner, 37)`)
  left.close()
  writeFileSync(join(dataFolder, 'processes', `${ended}.lock`), '')
}

test('a starting program expires the leases of ended processes, and their late writes are rejected', async () => {
  const one = open()
  const { lease, run } = await startRun(one)
  endHolder()
  const other = { ...KEY, session: 'other' }
  await startRun(one, other)
  const next = open()
  const seen = await next.lease.readHeader(KEY)
  expect(seen).toMatchObject({ generation: lease.generation, lease: { until: 0 }, activeRun: run.id })
  expect(await next.janitor.due(Date.now(), 10)).toMatchObject([{ key: KEY }])
  const taken = seen && (await next.lease.take(seen, 'next'))
  expect(taken?.generation).toBe(lease.generation + 1)
  expect(await next.lease.readHeader(KEY)).toMatchObject({ takeovers: 1 })
  await expect(one.lease.heartbeat(lease, Date.now() + LEASE_MS)).rejects.toMatchObject({ code: 'lease_lost' })
  expect((await next.lease.readHeader(other))?.lease?.until).toBeGreaterThan(Date.now())
  await Promise.all([one.close(), next.close()])
})

test('a starting program does not expire leases of another running program, nor leases without locks', async () => {
  const one = open()
  const { lease } = await startRun(one)
  const next = open()
  expect(await next.lease.readHeader(KEY)).toMatchObject({ lease: { until: lease.until } })
  const earlier = openDatabase(join(dataFolder, DATABASE))
  earlier.exec("UPDATE sessions SET leaseOwner = 'nonce'")
  earlier.close()
  await one.close()
  expect(locks()).toHaveLength(1)
  const third = open()
  expect(await third.lease.readHeader(KEY)).toMatchObject({ lease: { until: lease.until } })
  await Promise.all([next.close(), third.close()])
  expect(locks()).toEqual([])
})

test('a program that closes while a tool still holds a lease keeps its lock until the process ends', async () => {
  const one = open()
  const { lease } = await startRun(one)
  await one.close()
  expect(locks()).toHaveLength(1)
  const next = open()
  expect(await next.lease.readHeader(KEY)).toMatchObject({ lease: { until: lease.until } })
  await next.close()
})

test('without a folder for locks, leases name no process', async () => {
  writeFileSync(join(dataFolder, 'processes'), '')
  const one = open()
  expect((await startRun(one)).lease.owner).toBe('nonce')
  await one.close()
})
