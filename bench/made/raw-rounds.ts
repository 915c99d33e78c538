import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { callText } from '../../functions/log/call-text.ts'
import { documentTokens } from '../../functions/search/tokens/document-tokens.ts'
import type { HistoryDocument } from '../../functions/domain/history.ts'
import type { Contender, Content } from './contender.ts'

const TABLES = `PRAGMA journal_mode = WAL;
  CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT);
  CREATE VIRTUAL TABLE words USING fts5 (tool, call, body, extra, content = '', contentless_delete = 1)`
const INSERT_ROW = 'INSERT INTO rows (id, body) VALUES (?, ?)'
const UPDATE_ROW = 'UPDATE rows SET body = ? WHERE id = ?'
const INSERT_WORDS = 'INSERT INTO words (tool, call, body, extra) VALUES (?, ?, ?, ?)'

/**
 * Writes the bytes of a round to bare SQLite: a completion with two calls in one transaction, and their results in
 * another. With `words`, also inserts the prepared words of their documents into a bare FTS5 table. `synced`: each
 * commit is synced to the disk.
 */
export function openRaw(
  content: Content,
  { synced = true, words = false }: { readonly synced?: boolean; readonly words?: boolean },
): Contender {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-raw-'))
  const database = new DatabaseSync(join(folder, 'raw.db'))
  database.exec(`PRAGMA synchronous = ${synced ? 'FULL' : 'OFF'}`)
  database.exec(TABLES)
  const [begin, commit, insert, update, index] = [
    'BEGIN IMMEDIATE',
    'COMMIT',
    INSERT_ROW,
    UPDATE_ROW,
    INSERT_WORDS,
  ].map((sql) => database.prepare(sql))
  const { said, called, returned } = wordsOf(content)
  let last = 0
  const transaction = (work: () => void): void => {
    begin?.run()
    work()
    commit?.run()
  }
  const store = (body: string, columns: readonly string[], id: number): void => {
    insert?.run(id, body)
    if (words) index?.run(...columns)
  }
  const complete = (id: number): void => {
    update?.run(content.result, id)
    if (words) index?.run(...returned)
  }
  const round = (): number => {
    const begun = performance.now()
    const [first, second] = [last + 2, last + 3]
    transaction(() => {
      store(content.said + content.argumentsText + content.argumentsText, said, last + 1)
      for (const id of [first, second]) store(content.argumentsText, called, id)
    })
    transaction(() => [first, second].forEach(complete))
    last = second
    return performance.now() - begun
  }
  return {
    run: () => Array.from({ length: content.rounds }, round),
    later: async () => undefined,
    close() {
      database.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** Computes the columns of each document, as the history index does. */
function wordsOf({ said, argumentsText, result }: Content): Record<'said' | 'called' | 'returned', string[]> {
  const call = callText({ name: 'work', arguments: argumentsText })
  const base = { tenant: 't', session: 's', runId: 'r', messageId: 'm', part: 'u', agent: 'a', time: 0 }
  const columns = (document: Pick<HistoryDocument, 'role' | 'text' | 'toolName' | 'call'>): string[] => {
    const tokens = documentTokens({ ...base, ...document })
    return [tokens.tool, tokens.call, tokens.body, tokens.extra].map((list) => list.join(' '))
  }
  return {
    said: columns({ role: 'assistant', text: said }),
    called: columns({ role: 'tool_call', text: call, toolName: 'work', call }),
    returned: columns({ role: 'tool_result', text: result, toolName: 'work', call }),
  }
}
