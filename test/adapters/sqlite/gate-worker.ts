import { parentPort, workerData } from 'node:worker_threads'
import { openDatabase, transaction } from '../../../functions/adapters/sqlite/database.ts'
import { afterOthers, type WriteGate } from '../../../functions/adapters/sqlite/write-gate.ts'

/**
 * A background thread. Each message is a number of milliseconds for which the thread locks the file. With `dies`, the thread
 * exits while it holds the lock.
 */
const { path, gate, dies } = workerData as { path: string; gate: WriteGate; dies: boolean }
const database = openDatabase(path)
const pause = (milliseconds: number): void =>
  void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)

parentPort?.on('message', (milliseconds: number) => {
  afterOthers(gate, () =>
    transaction(database, () => {
      parentPort?.postMessage('held')
      if (dies) process.exit(1)
      pause(milliseconds)
    }),
  )
  parentPort?.postMessage(performance.timeOrigin + performance.now())
})
