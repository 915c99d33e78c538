import { copyFileSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { importFiles, type ImportCounts } from '../../functions/cli/import/import-files.ts'
import { exportLines } from '../e2e/exported.ts'
import { startInProcess, testAgent, type InProcess } from '../e2e/in-process.ts'
import { localBackend } from '../e2e/local-backend.ts'

/** Written by the real package; `write_checkpoints.py` beside it says how. */
const REAL = fileURLToPath(new URL('checkpoints/langgraph.sqlite', import.meta.url))
const FILMS = 'langgraph-sqlite-5b0c1c1e-1111-4222-8333-444455556666'

let program: InProcess
let folder: string
let path: string
beforeAll(async () => {
  const agents = [testAgent({ name: 'default', model: 'openai-compatible/any' })]
  program = await startInProcess({ backend: localBackend, agents, modelBaseUrl: 'http://127.0.0.1:9' })
})
afterAll(() => program.close())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tooltrail-langgraph-'))
  path = join(folder, 'langgraph.sqlite')
  copyFileSync(REAL, path)
  old()
  return () => rmSync(folder, { recursive: true, force: true })
})
/** Nobody writes to it any more. */
const old = (): void => utimesSync(path, 0, 0)

const faults: string[] = []
async function run(): Promise<ImportCounts> {
  faults.length = 0
  const folders = { claude: undefined, codex: undefined }
  const order = { kind: 'langgraph-sqlite', places: [folder], dryRun: false, target: program.client, folders } as const
  return importFiles(order, { fault: (line) => faults.push(line), progress: undefined, now: () => Date.now() })
}

interface Session {
  readonly id: string
  readonly instructions?: string | null
  readonly metadata: { readonly file?: string; readonly thread?: string; readonly subgraph?: string }
}
const idOf = (all: readonly Session[], thread: string, subgraph?: string): string =>
  all.find(({ metadata: { file, ...of } }) => file === path && of.thread === thread && of.subgraph === subgraph)?.id ??
  ''
const sessions = () => program.client.all<Session>('/v1/sessions')
const rolesOf = async (id: string) =>
  (await exportLines(async (at) => fetch(program.client.url + at), id)).map(({ role, status }) =>
    [role, status].join(' ').trim(),
  )

/** Changes the copy as another program would. */
function change(work: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(path)
  work(database)
  database.close()
  old()
}

test('threads of LangGraph come in whole, subgraphs beside them, and again only what is new', async () => {
  // The newest steps are written later.
  const rows: Record<string, string | Uint8Array | null>[] = []
  change((database) => {
    const late =
      "thread_id = '5b0c1c1e-1111-4222-8333-444455556666' AND json_extract(CAST(metadata AS TEXT), '$.step') >= 4"
    rows.push(...(database.prepare(`SELECT * FROM checkpoints WHERE ${late}`).all() as typeof rows))
    database.exec(`DELETE FROM checkpoints WHERE ${late}`)
  })
  expect(rows.length).toBeGreaterThan(0)
  expect(await run()).toMatchObject({ files: 1, unreadable: 0 })
  expect(faults).toEqual([])
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

  const lines = await exportLines(async (at) => fetch(program.client.url + at), FILMS)
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
  // What the graph forgot is kept here, a call that nobody answered is closed.
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
  const { data } = await program.client.get<{ data: object[] }>('/v1/search?q=that%20ffmpeg%20command&role=tool_call')
  expect(data.length).toBeGreaterThan(0)
})

test('a damaged checkpoint is told, and costs nothing that another one has; what is no such file is told', async () => {
  change((database) =>
    database.exec(
      "UPDATE checkpoints SET checkpoint = x'c1ff' WHERE json_extract(CAST(metadata AS TEXT), '$.step') = 1",
    ),
  )
  expect(await run()).toMatchObject({ files: 1, unreadable: 0 })
  expect(faults).toHaveLength(5)
  for (const fault of faults) expect(fault).toMatch(/langgraph\.sqlite:\d+: the checkpoint cannot be read: /)
  const all = await sessions()
  expect(await rolesOf(idOf(all, 'short'))).toEqual(['user', 'assistant', 'user', 'assistant'])
  // This step was the only one with the call.
  expect(await rolesOf(idOf(all, 'ship / 1'))).toEqual(['user'])
  writeFileSync(path, 'not a database')
  expect(await run()).toMatchObject({ files: 0, unreadable: 1 })
  expect(faults).toEqual([expect.stringMatching(/langgraph\.sqlite: file is not a database/)])
  new DatabaseSync(join(folder, 'other.db')).close()
  rmSync(path)
  expect(await run()).toMatchObject({ files: 0, unreadable: 1 })
})
