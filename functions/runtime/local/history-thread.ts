import { Worker } from 'node:worker_threads'
import { createWriteGate, goFirst, releaseGate } from '../../adapters/sqlite/write-gate.ts'
import type { Database } from '../../adapters/sqlite/database.ts'
import type { HistoryMerger } from '../../adapters/sqlite/history/documents/merger.ts'
import type { FromThread, ThreadSettings, ToThread, Work } from './history-worker.ts'

interface Dependencies extends Omit<ThreadSettings, 'gate'> {
  /** The connection of this thread, whose writes go first. */
  readonly database: Database
  /** Is called with the reason when a message could not be indexed. */
  readonly report: (error: unknown) => void
}

export interface HistoryThread extends HistoryMerger {
  /** Leaves the write-ahead log with no bytes. False if somebody is reading or writing just then: try again. */
  emptyLog(): Promise<boolean>
}

/** New objects on the thread's heap soon become garbage: more memory for them would be used without any gain. */
const YOUNG_MB = 24
/** Pages in the write-ahead log at which the thread that serves moves them to the file itself: the one that indexes does so before. */
const CHECKPOINT_PAGES = 16_000
/** How long a stopping thread may take for its current transaction, in milliseconds. */
const STOP_MS = 2_000

/**
 * Indexes in its own thread, on its own connection, so that no text holds up a request, whatever its length and kind.
 * The thread starts with the first text to index and never keeps the program running.
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
    // The log goes with the last connection.
    emptyLog: () => (closed ? Promise.resolve(true) : ask('emptyLog')),
    async close() {
      closed = true
      await running?.stop()
    },
  }
}

interface Thread {
  /** Whether the log is empty, if that was asked for. */
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
  // TypeScript in a checkout, JavaScript in the package.
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
