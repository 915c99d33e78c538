/* Evidence, imports: Session files are imported completely. Damaged lines are reported with file and line, and only they are
 * lost. */
/* Evidence, imports: Every message in LangGraph's checkpoints is imported once, even if it was later changed, removed or
 * forked. */
import { chmodSync, copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, expect, test } from 'vitest'
import { declareImporting } from '../../e2e/backend/importing.ts'

/** A file that the real package wrote with `write_checkpoints.py` of the same folder. */
const REAL = fileURLToPath(new URL('checkpoints/langgraph.sqlite', import.meta.url))
const FILMS = 'langgraph-sqlite-5b0c1c1e-1111-4222-8333-444455556666'
const NAME = 'langgraph.sqlite'

const importing = declareImporting()
const run = () => importing.run('langgraph-sqlite')
let path: string
beforeEach(() => {
  path = join(importing.folder, NAME)
  copyFileSync(REAL, path)
  importing.old(NAME)
})

interface Session {
  readonly id: string
  readonly instructions?: string | null
  readonly metadata: { readonly file?: string; readonly thread?: string; readonly subgraph?: string }
}
const idOf = (all: readonly Session[], thread: string, subgraph?: string): string =>
  all.find(({ metadata: { file, ...of } }) => file === path && of.thread === thread && of.subgraph === subgraph)?.id ??
  ''
const sessions = () => importing.program.client.all<Session>('/v1/sessions')
const rolesOf = async (id: string) =>
  (await importing.log(id)).map(({ role, status }) => [role, status].join(' ').trim())

/** Changes the copy of the database, as another program would. */
function change(work: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(path)
  work(database)
  database.close()
  importing.old(NAME)
}

test('threads of LangGraph are imported completely with their subgraphs; a repeated import adds only new messages', async () => {
  // Removes the newest steps. The test restores these steps later.
  const rows: Record<string, string | Uint8Array | null>[] = []
  change((database) => {
    const late =
      "thread_id = '5b0c1c1e-1111-4222-8333-444455556666' AND json_extract(CAST(metadata AS TEXT), '$.step') >= 4"
    rows.push(...(database.prepare(`SELECT * FROM checkpoints WHERE ${late}`).all() as typeof rows))
    database.exec(`DELETE FROM checkpoints WHERE ${late}`)
  })
  expect(rows.length).toBeGreaterThan(0)
  expect(await run()).toMatchObject({ files: 1, unreadable: 0 })
  expect(importing.faults).toEqual([])
  expect(await rolesOf(FILMS)).toEqual(['user', 'assistant', 'tool completed', 'tool error', 'assistant'])
  change((database) => {
    for (const row of rows)
      database
        .prepare('INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)')
        .run(
          ...[
            'thread_id',
            'checkpoint_ns',
            'checkpoint_id',
            'parent_checkpoint_id',
            'type',
            'checkpoint',
            'metadata',
          ].map((name) => row[name] ?? null),
        )
  })
  expect(await run()).toMatchObject({ sessions: 1, messages: 2 })
  expect(await run()).toMatchObject({ sessions: 0, messages: 0 })

  const lines = await importing.log(FILMS)
  expect(lines[1]).toMatchObject({
    model: 'claude-x',
    usage: { input_tokens: 10, cached_input_tokens: 3, output_tokens: 5 },
    tool_calls: [
      { id: 'c1', name: 'run_shell', arguments: '{"command":"ffmpeg -i a.mov -crf 28 a.mp4"}' },
      { id: 'c2' },
    ],
  })
  expect(lines[2]?.parts).toEqual([{ type: 'text', text: 'frame= 240 fps=60: done, ünïcode 漢字' }])
  expect(lines[5]?.parts).toMatchObject([
    { type: 'text', text: 'look' },
    { type: 'image', media_type: 'image/png' },
  ])
  expect(lines.every(({ created_at: at }) => Date.parse(String(at)) < Date.now())).toBe(true)

  const all = await sessions()
  expect(all.find(({ id }) => id === FILMS)?.instructions).toBe('You convert films.')
  // Messages that the graph forgot are kept. A call without an answer is closed.
  expect(await rolesOf(idOf(all, 'short'))).toEqual(['user', 'assistant', 'user', 'assistant'])
  expect(await rolesOf(idOf(all, 'ship / 1'))).toEqual(['user', 'assistant', 'tool interrupted'])
  expect(await rolesOf(idOf(all, 'team'))).toEqual(['user', 'assistant'])
  expect(await rolesOf(idOf(all, 'team', 'worker'))).toEqual([
    'user',
    'assistant',
    'tool completed',
    'tool error',
    'assistant',
  ])
  const { data } = await importing.program.client.get<{ data: object[] }>(
    '/v1/search?q=that%20ffmpeg%20command&role=tool_call',
  )
  expect(data.length).toBeGreaterThan(0)
})

test('a damaged checkpoint is reported, and all others are imported; another kind of file is reported', async () => {
  change((database) =>
    database.exec(
      "UPDATE checkpoints SET checkpoint = x'c1ff' WHERE json_extract(CAST(metadata AS TEXT), '$.step') = 1",
    ),
  )
  expect(await run()).toMatchObject({ files: 1, unreadable: 0 })
  expect(importing.faults).toHaveLength(5)
  for (const fault of importing.faults) expect(fault).toMatch(/langgraph\.sqlite:\d+: the checkpoint cannot be read: /)
  const all = await sessions()
  expect(await rolesOf(idOf(all, 'short'))).toEqual(['user', 'assistant', 'user', 'assistant'])
  // Only the unreadable step contained the call.
  expect(await rolesOf(idOf(all, 'ship / 1'))).toEqual(['user'])
  writeFileSync(path, 'not a database')
  expect(await run()).toMatchObject({ files: 0, failed: 1 })
  expect(importing.faults).toEqual([expect.stringMatching(/langgraph\.sqlite: file is not a database/)])
  new DatabaseSync(join(importing.folder, 'other.db')).close()
  rmSync(path)
  expect(await run()).toMatchObject({ files: 0, failed: 1 })
})

test('a database that an agent writes to counts as in use, even if the database file is unchanged', async () => {
  const database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; DELETE FROM writes')
  importing.old(NAME)
  await run()
  // The call may still be answered.
  expect(await rolesOf(idOf(await sessions(), 'ship / 1'))).toEqual(['user'])
  database.close()
  importing.old(NAME)
  await run()
  expect(await rolesOf(idOf(await sessions(), 'ship / 1'))).toEqual(['user', 'assistant', 'tool interrupted'])
})

test('a file in a read-only folder is read', async () => {
  change((database) => database.exec('PRAGMA journal_mode = WAL'))
  chmodSync(importing.folder, 0o555)
  const counts = await run()
  chmodSync(importing.folder, 0o755)
  expect([counts.files, importing.faults]).toEqual([1, []])
})
