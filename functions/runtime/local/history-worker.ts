import { parentPort, workerData } from 'node:worker_threads'
import { createDiskOutputStore } from '../../adapters/disk/output-store.ts'
import { createSystemClock } from '../../adapters/memory/system-clock.ts'
import { openDatabase } from '../../adapters/sqlite/database.ts'
import { createHistoryMerger } from '../../adapters/sqlite/history/documents/merger.ts'
import { reindexMessages } from '../../adapters/sqlite/history/documents/reindex.ts'
import { emptyLog } from '../../adapters/sqlite/write-ahead-log.ts'
import type { WriteGate } from '../../adapters/sqlite/write-gate.ts'

/** The data that `history-thread.ts` passes to the indexing thread. The types after it are the threads' messages. */
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

/**
 * Page cache of the index, in KB. It is larger than SQLite's default of 2 MB, because new words are spread over the
 * whole index.
 */
const CACHE_KB = 16_384
/**
 * Size of the write-ahead log, in pages of the database, at which this thread checkpoints: four times SQLite's default.
 * The index changes some pages repeatedly, so a larger log moves fewer pages. The serving thread never waits for these
 * checkpoints (`history-thread.ts`).
 */
const CHECKPOINT_PAGES = 4_000

if (parentPort === null) throw new Error('this module is a thread of its own')
const port = parentPort
const { path, outputs, gate } = workerData as ThreadSettings
const database = openDatabase(path)
database.exec(`PRAGMA cache_size = -${CACHE_KB}`)
// A crash may lose index writes. Each finished write is marked in the same file. If the write is lost, its mark is lost
// too, and the write is repeated. Therefore, no write has to wait for the disk.
database.exec('PRAGMA synchronous = NORMAL')
database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
const say = (message: FromThread): void => port.postMessage(message)
const report = (error: unknown): void => say({ report: causes(error) })
const merger = createHistoryMerger({ database, gate, outputs: createDiskOutputStore({ folder: outputs }), report })
const stopping = new AbortController()
const reindexed = reindexMessages({
  database,
  gate,
  merge: () => merger.merge(undefined),
  closed: stopping.signal,
  clock: createSystemClock(),
  report,
})
port.on('message', (message: ToThread) => void take(message))

async function take(message: ToThread): Promise<void> {
  if (message === 'stop') {
    stopping.abort()
    await merger.close()
    await reindexed
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

/**
 * Joins the messages of an error and its causes, because an error loses its causes when it is sent to another thread.
 */
function causes(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${causes(error.cause)}`
}
