/*
 * If a person types while the model works, Claude Code stores the text as a queued command. An import stores this text
 * once, in order, as an input, and a search finds it.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page, SearchHit } from '../../e2e/backend/client.ts'
import { startScriptedProgram } from '../../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../../e2e/scripted-program.ts'

const ID = crypto.randomUUID()
const WORDS = 'also rename it to quokka'
const timeOf = (second: number): string => new Date(Date.UTC(2026, 9, 1, 10, 0, second)).toISOString()
const line = (second: number, fields: object): object => ({
  uuid: crypto.randomUUID(),
  sessionId: ID,
  timestamp: timeOf(second),
  isSidechain: false,
  ...fields,
})
const assistant = (second: number, id: string, stop_reason: string, content: object): object =>
  line(second, {
    type: 'assistant',
    message: { id, role: 'assistant', model: 'x', stop_reason, content: [content] },
  })
const user = (second: number, content: unknown): object =>
  line(second, { type: 'user', message: { role: 'user', content } })
const queued = (second: number, fields: object): object => ({
  type: 'queue-operation',
  timestamp: timeOf(second),
  sessionId: ID,
  ...fields,
})
const LINES = [
  user(1, 'Tidy the parser.'),
  assistant(2, 'm1', 'tool_use', { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'make' } }),
  queued(3, { operation: 'enqueue', content: WORDS }),
  queued(4, { operation: 'remove' }),
  line(4, { type: 'attachment', attachment: { type: 'queued_command', commandMode: 'prompt', prompt: WORDS } }),
  user(5, [{ type: 'tool_result', tool_use_id: 't1', content: 'ok' }]),
  assistant(6, 'm2', 'end_turn', { type: 'text', text: 'Renamed, as you asked.' }),
  line(7, { type: 'system', subtype: 'turn_duration' }),
]

let folder: string
let scripted: ScriptedProgram
beforeAll(async () => {
  scripted = await startScriptedProgram()
  folder = await mkdtemp(join(tmpdir(), 'tooltrail-'))
  await mkdir(join(folder, '-p'))
  await writeFile(join(folder, '-p', `${ID}.jsonl`), LINES.map((one) => `${JSON.stringify(one)}\n`).join(''))
  await scripted.command('import', 'claude-code', folder)
})
afterAll(async () => {
  await scripted.close()
  await rm(folder, { recursive: true, force: true })
})

async function inputsWith(word: string): Promise<number> {
  const { data } = await scripted.client.get<Page<SearchHit>>(`/v1/search?limit=20&q=${word}`)
  return data.filter(({ role }) => role === 'user').length
}

test('field/07/first-input · sqlite: a search finds the first input of an import', async () =>
  expect.poll(() => inputsWith('Tidy')).toBe(1))

test('field/07/queued-command · sqlite: a search finds an input that was queued, once', async () =>
  expect.poll(() => inputsWith('quokka')).toBe(1))
