import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isRecord, textIn } from '../../log/session-files/transcript.ts'
import { readLines } from './file-lines.ts'

/** Limit of the folder levels between a session file and the program's folder (year, month, day). */
const MAX_FOLDERS = 6

/** The titles of the list that was read last. All files of an import share them. */
let latest: { readonly version: string; readonly titles: Promise<ReadonlyMap<string, string>> } | undefined

/**
 * Finds a session's title in Codex's `session_index.jsonl`. If a session has several entries, the last one counts.
 * Undefined if it has none.
 */
export async function codexTitle(path: string, session: string | undefined): Promise<string | undefined> {
  const list = listOf(path)
  if (list === undefined || session === undefined) return undefined
  const found = await stat(list).catch(ifMissing)
  if (found === undefined) return undefined
  const version = `${list} ${found.mtimeMs} ${found.size}`
  if (latest?.version !== version) latest = { version, titles: readTitles(list) }
  return (await latest.titles).get(session)
}

/** The path of the list, beside the folder `sessions` or `archived_sessions` that contains the file. */
function listOf(path: string): string | undefined {
  let folder = dirname(path)
  for (let depth = 0; depth < MAX_FOLDERS; depth++, folder = dirname(folder))
    if (/^(?:archived_)?sessions$/u.test(basename(folder))) return join(dirname(folder), 'session_index.jsonl')
  return undefined
}

function ifMissing(error: unknown): undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ENOENT') throw error
}

async function readTitles(path: string): Promise<ReadonlyMap<string, string>> {
  const { lines } = await readLines(path)
  return new Map(
    lines.flatMap(({ value }) => {
      const [id, title] = isRecord(value) ? [textIn(value, 'id'), textIn(value, 'thread_name')?.trim()] : []
      return id !== undefined && title ? [[id, title.slice(0, 500).toWellFormed()] as const] : []
    }),
  )
}
