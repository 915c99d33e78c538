/*
 * Codex compresses session files that were not written for a week: rollout-….jsonl.zst replaces rollout-….jsonl. An import
 * reads the compressed files, or reports how many files it skipped. This also holds for .jsonl.gz.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page, SearchHit } from '../../e2e/backend/client.ts'
import { startScriptedProgram } from '../../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../../e2e/scripted-program.ts'

const line = (type: string, payload: object): string =>
  `${JSON.stringify({ timestamp: '2026-10-01T10:00:00.000Z', type, payload })}\n`
const message = (role: string, type: string, text: string): string =>
  line('response_item', { type: 'message', role, content: [{ type, text }] })
const rollout = (id: string, word: string): Buffer =>
  Buffer.from(
    [
      line('session_meta', { id, cwd: '/p', cli_version: '0.153.0', source: 'cli' }),
      message('user', 'input_text', `repair the ${word}`),
      message('assistant', 'output_text', 'Repaired.'),
      line('event_msg', { type: 'task_complete' }),
    ].join(''),
  )

let folder: string
let output: string
let scripted: ScriptedProgram
beforeAll(async () => {
  scripted = await startScriptedProgram()
  folder = await mkdtemp(join(tmpdir(), 'tooltrail-'))
  const write = async (word: string, ending: string, compress: (bytes: Buffer) => Buffer): Promise<void> => {
    const id = crypto.randomUUID()
    await writeFile(join(folder, `rollout-2026-10-01T10-00-00-${id}.jsonl${ending}`), compress(rollout(id, word)))
  }
  await write('quoll', '', (bytes) => bytes)
  await write('kowari', '.zst', zstdCompressSync)
  await write('mulgara', '.gz', gzipSync)
  output = await scripted.command('import', 'codex', folder)
})
afterAll(async () => {
  await scripted.close()
  await rm(folder, { recursive: true, force: true })
})

async function isFound(word: string): Promise<boolean> {
  const { data } = await scripted.client.get<Page<SearchHit>>(`/v1/search?limit=20&q=${word}`)
  return data.length === 1
}

test('field/11/plain-file · sqlite: a plain session file is imported', async () =>
  expect.poll(() => isFound('quoll')).toBe(true))

test.each([
  ['zst', 'kowari'],
  ['gz', 'mulgara'],
])('field/11/compressed-file · sqlite: a session file in .%s is imported or reported', async (ending, word) =>
  expect.poll(async () => (await isFound(word)) || output.includes(ending)).toBe(true),
)
