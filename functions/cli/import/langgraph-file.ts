import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { sha256 } from '../../domain/hash.ts'
import { readLangGraph } from '../../log/session-files/langgraph.ts'
import type { CheckpointRow } from '../../log/session-files/langgraph.ts'
import type { Transcript } from '../../log/session-files/transcript.ts'

interface Thread {
  readonly thread: string
  /** Empty for the graph itself, otherwise the path of a subgraph. */
  readonly place: string
}

const SELECT_THREADS = `SELECT thread_id AS thread, checkpoint_ns AS place FROM checkpoints
  GROUP BY thread_id, checkpoint_ns ORDER BY thread_id, checkpoint_ns`
const SELECT_CHECKPOINTS = `SELECT rowid AS line, coalesce(type, 'json') AS type, checkpoint FROM checkpoints
  WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY checkpoint_id`
const UUID = /^[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/iu

/**
 * Reads the threads of a file written by LangGraph's `SqliteSaver`, one after another. The file is opened read-only. A
 * subgraph is a separate conversation if it has messages that its thread does not have.
 */
export function* threadsOf(path: string): Generator<Transcript & { readonly instructions: string | undefined }> {
  const database = openForReading(path)
  try {
    const checkpoints = database.prepare(SELECT_CHECKPOINTS)
    let own: { readonly thread: string; readonly ids: ReadonlySet<string> } | undefined
    for (const { thread, place } of database.prepare(SELECT_THREADS).all() as unknown as Thread[]) {
      const rows = checkpoints.iterate(thread, place) as Iterable<unknown> as Iterable<CheckpointRow>
      const { ids, ...read } = readLangGraph(rows, own?.thread === thread ? own.ids : undefined)
      if (place === '') own = { thread, ids }
      const metadata = { thread: thread.slice(0, 256), ...(place === '' ? {} : { subgraph: place.slice(0, 256) }) }
      yield { ...read, id: nameOf(path, { thread, place }), metadata }
    }
  } finally {
    database.close()
  }
}

/** SQLite's error code if a read needs files beside the database and SQLite cannot create them. */
const READONLY_DIRECTORY = 1544

/**
 * Opens a database. In a read-only folder, reads the database without the files beside it, unless another program is
 * using it.
 */
function openForReading(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get()
    return database
  } catch (error) {
    database.close()
    const isOpenElsewhere = existsSync(`${path}-wal`)
    if (isOpenElsewhere || !(error instanceof Error) || !('errcode' in error) || error.errcode !== READONLY_DIRECTORY)
      throw error
    const url = pathToFileURL(path)
    url.searchParams.set('immutable', '1')
    return new DatabaseSync(url, { readOnly: true })
  }
}

/** Returns the thread's own name if it is a UUID, and therefore unique. Otherwise derives a name from the file. */
const nameOf = (path: string, { thread, place }: Thread): string =>
  UUID.test(thread) && place === '' ? thread : sha256(JSON.stringify([resolve(path), thread, place])).slice(0, 16)
