import { Worker } from 'node:worker_threads'
import { createWriteGate, goFirst, releaseGate } from '../../adapters/sqlite/write-gate.ts'
import type { Database } from '../../adapters/sqlite/database.ts'
import type { HistoryMerger } from '../../adapters/sqlite/history/documents/merger.ts'
import type { FromThread, ThreadSettings, ToThread, Work } from './history-worker.ts'

interface Dependencies extends Omit<ThreadSettings, 'gate'> {
  /** The connection of the calling thread. Its writes have priority. */
  readonly database: Database
  /** Called with the reason when a message could not be indexed. */
  readonly report: (error: unknown) => void
}

export interface HistoryThread extends HistoryMerger {
  /** Empties the write-ahead log. Returns false if another connection is reading or writing; call it again later. */
  emptyLog(): Promise<boolean>
}

/**
 * Heap size for new objects of the thread, in MB. These objects soon become garbage, so a larger heap would have no
 * benefit.
 */
const YOUNG_MB = 24
/**
 * Size of the write-ahead log, in pages, at which the serving thread checkpoints. The limit of the indexing thread is
 * lower, so the indexing thread normally checkpoints first.
 */
const CHECKPOINT_PAGES = 16_000
/** Time limit for a stopping thread to finish its current transaction. */
const STOP_MS = 2_000

/**
 * Indexes texts in a separate thread with its own connection, so that even a long text delays no request. The thread
 * starts with the first text to index and never keeps the program running.
 */
export function createHistoryThread({ database, path, outputs, report }: Dependencies): HistoryThread {
  const gate = createWriteGate()
  goFirst(database, gate)
  database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  let running: Thread | undefined
  let closed = false
  const ended = (thread: Thread): void => {
    releaseGate(gate)
    if (running === thread) running = undefined
  }
  const ask = (work: Work): Promise<boolean> => {
    if (closed) return Promise.reject(new Error('the database is closed'))
    running ??= startThread({ path, outputs, gate }, report, ended)
    return running.ask(work)
  }
  return {
    async merge(tenant) {
      await ask({ merge: tenant })
    },
    // Closing the last connection removes the write-ahead log.
    emptyLog: () => (closed ? Promise.resolve(true) : ask('emptyLog')),
    async close() {
      closed = true
      await running?.stop()
    },
  }
}

interface Thread {
  /** Sends work to the thread. For `emptyLog`, resolves to whether the log is empty. */
  ask(work: Work): Promise<boolean>
  stop(): Promise<void>
}

interface Waiting {
  readonly resolve: (emptied: boolean) => void
  readonly reject: (error: Error) => void
}

function startThread(
  settings: ThreadSettings,
  report: (error: unknown) => void,
  ended: (thread: Thread) => void,
): Thread {
  // The worker file is TypeScript in a checkout and JavaScript in the package.
  const worker = new Worker(new URL(import.meta.url.replace('history-thread', 'history-worker')), {
    workerData: settings,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  })
  const waiting = new Map<number, Waiting>()
  let last = 0
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  const post = (message: ToThread): void => worker.postMessage(message)
  const thread: Thread = {
    ask(work) {
      const request = ++last
      return new Promise((resolve, reject) => {
        waiting.set(request, { resolve, reject })
        post({ request, work })
      })
    },
    async stop() {
      post('stop')
      const late = setTimeout(() => void worker.terminate(), STOP_MS)
      await exited
      clearTimeout(late)
    },
  }
  const fail = (error: Error): void => {
    ended(thread)
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  worker.unref()
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))))
  worker.once('exit', () => fail(new Error('the indexing thread has ended')))
  worker.on('message', (message: FromThread) => {
    if ('report' in message) return report(new Error(message.report))
    const one = waiting.get(message.request)
    waiting.delete(message.request)
    if (message.error === undefined) one?.resolve(message.emptied === true)
    else one?.reject(new Error(message.error))
  })
  return thread
}
