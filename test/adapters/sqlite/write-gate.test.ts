import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDatabase, transaction, type Database } from '../../../functions/adapters/sqlite/database.ts'
import { createWriteGate, goFirst, type WriteGate } from '../../../functions/adapters/sqlite/write-gate.ts'

/** Duration of the background lock. SQLite itself would check the lock only after 228 ms and after 328 ms. */
const HELD_MS = 240
const ROUNDS = 5

let folder: string
let path: string
let database: Database
let gate: WriteGate
let worker: Worker
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tooltrail-gate-'))
  path = join(folder, 'gate.db')
  database = openDatabase(path)
  gate = createWriteGate()
  goFirst(database, gate)
})
afterEach(async () => {
  await worker.terminate()
  database.close()
  rmSync(folder, { recursive: true })
})

function start(dies: boolean): void {
  worker = new Worker(new URL('gate-worker.ts', import.meta.url), { workerData: { path, gate, dies } })
}

test('a waiting foreground write continues when the background transaction ends', async () => {
  start(false)
  const late: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const held = once(worker, 'message')
    worker.postMessage(HELD_MS)
    await held
    const begun = transaction(database, () => performance.timeOrigin + performance.now())
    const [ended] = (await once(worker, 'message')) as [number]
    late.push(begun - ended)
  }
  expect(Math.min(...late)).toBeLessThan(25)
})

test('a thread that crashes in its transaction blocks others for less than three seconds', async () => {
  start(true)
  const ended = once(worker, 'exit')
  worker.postMessage(HELD_MS)
  await ended
  const before = performance.now()
  expect(transaction(database, () => 'done')).toBe('done')
  expect(performance.now() - before).toBeLessThan(3_000)
})
