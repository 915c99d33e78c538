import { parentPort, workerData } from 'node:worker_threads'
import { createDiskOutputStore } from '../../adapters/disk/output-store.ts'
import { openDatabase } from '../../adapters/sqlite/database.ts'
import { createHistoryMerger } from '../../adapters/sqlite/history/documents/merger.ts'
import { emptyLog } from '../../adapters/sqlite/write-ahead-log.ts'
import type { WriteGate } from '../../adapters/sqlite/write-gate.ts'

/** The thread that indexes (`history-thread.ts`): its data and its messages. */
export interface ThreadSettings {
  /** Path of the database's file. */
  readonly path: string
  /** The folder of the outputs. */
  readonly outputs: string
  readonly gate: WriteGate
}
export type ToThread = { readonly request: number; readonly work: Work } | 'stop'
export type Work = { readonly merge: string | undefined } | 'emptyLog'
export type FromThread =
  | { readonly request: number; readonly error?: string; readonly emptied?: boolean }
  | { readonly report: string }

/** Pages of the index kept in memory, in KB: more than SQLite's 2 MB, because new words are spread over all of it. */
const CACHE_KB = 16_384
/**
 * Pages (of 8 KB) in the write-ahead log at which this thread moves them to the file: four times SQLite's. The index changes the same
 * pages again and again, so fewer are moved, and the thread that serves never waits for it (`history-thread.ts`).
 */
const CHECKPOINT_PAGES = 4_000

if (parentPort === null) throw new Error('this module is a thread of its own')
const port = parentPort
const { path, outputs, gate } = workerData as ThreadSettings
const database = openDatabase(path)
database.exec(`PRAGMA cache_size = -${CACHE_KB}`)
// What a crash takes back is marked again with it, in the same file: nothing has to wait for the disk.
database.exec('PRAGMA synchronous = NORMAL')
database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
const say = (message: FromThread): void => port.postMessage(message)
const merger = createHistoryMerger({
  database,
  gate,
  outputs: createDiskOutputStore({ folder: outputs }),
  report: (error) => say({ report: causes(error) }),
})
port.on('message', (message: ToThread) => void take(message))

async function take(message: ToThread): Promise<void> {
  if (message === 'stop') {
    await merger.close()
    database.close()
    port.close()
    return
  }
  const { request, work } = message
  try {
    if (work === 'emptyLog') return say({ request, emptied: emptyLog(database, gate) })
    await merger.merge(work.merge)
    say({ request })
  } catch (error) {
    say({ request, error: causes(error) })
  }
}

/** Errors lose their causes when they are sent to another thread. */
function causes(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${causes(error.cause)}`
}
