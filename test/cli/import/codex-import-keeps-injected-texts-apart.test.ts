/*
 * Codex sends its model texts as user messages that no person wrote: the project's instructions, lists of plugins, the output
 * of a shell command. An import does not store them as inputs. Newer files list typed texts in `event_msg` lines
 * (`item_completed` with a `UserMessage`), so that an import can distinguish them from other texts.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page, SearchHit } from '../../e2e/backend/client.ts'
import { startScriptedProgram } from '../../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../../e2e/scripted-program.ts'

const ID = crypto.randomUUID()
const TYPED = 'please repair the echidna'
const INSTRUCTIONS = '# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>\nMind the dibbler.\n</INSTRUCTIONS>'
const ENVIRONMENT = '<environment_context>\n<cwd>/p</cwd>\n</environment_context>'
const PLUGINS = '<recommended_plugins>\nbilby\n</recommended_plugins>'
const line = (second: number, type: string, payload: object): string =>
  `${JSON.stringify({ timestamp: new Date(Date.UTC(2026, 9, 1, 10, 0, second)).toISOString(), type, payload })}\n`
const message = (second: number, role: string, type: string, ...texts: readonly string[]): string =>
  line(second, 'response_item', { type: 'message', role, content: texts.map((text) => ({ type, text })) })
const LINES = [
  line(0, 'session_meta', { id: ID, cwd: '/p', cli_version: '0.153.0', source: 'cli' }),
  message(1, 'user', 'input_text', INSTRUCTIONS, ENVIRONMENT),
  message(1, 'user', 'input_text', PLUGINS),
  message(2, 'user', 'input_text', TYPED),
  line(2, 'event_msg', {
    type: 'item_completed',
    item: { type: 'UserMessage', id: 'i1', content: [{ type: 'text', text: TYPED }] },
  }),
  message(3, 'assistant', 'output_text', 'Repaired.'),
  line(4, 'event_msg', { type: 'task_complete' }),
]

let folder: string
let scripted: ScriptedProgram
beforeAll(async () => {
  scripted = await startScriptedProgram()
  folder = await mkdtemp(join(tmpdir(), 'tooltrail-'))
  await writeFile(join(folder, `rollout-2026-10-01T10-00-00-${ID}.jsonl`), LINES.join(''))
  await scripted.command('import', 'codex', folder)
})
afterAll(async () => {
  await scripted.close()
  await rm(folder, { recursive: true, force: true })
})

async function inputsWith(word: string): Promise<number> {
  const { data } = await scripted.client.get<Page<SearchHit>>(`/v1/search?limit=20&q=${word}`)
  return data.filter(({ role }) => role === 'user').length
}

test('field/09/typed-text · sqlite: a search finds what the person typed, once', async () =>
  expect.poll(() => inputsWith('echidna')).toBe(1))

test.each([
  ['instructions', 'dibbler'],
  ['plugins', 'bilby'],
])(
  'field/09/injected-text · sqlite: a search for inputs of the person does not find %s of the project',
  async (_, word) => expect(await inputsWith(word)).toBe(0),
)
