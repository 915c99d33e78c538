/*
 * The file that `export -o` writes can be read by its owner only. Today each user of the machine can read it.
 *
 * Suite: test/cli/commands/
 */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'

let folder: string
let scripted: ScriptedProgram
beforeAll(async () => {
  scripted = await startScriptedProgram()
  folder = await mkdtemp(join(tmpdir(), 'tooltrail-'))
})
afterAll(async () => {
  await scripted.close()
  await rm(folder, { recursive: true, force: true })
})

test.fails('an exported file can be read by its owner only', async () => {
  const session = await scripted.newSession()
  await scripted.ask(session, 'hello')
  const file = join(folder, 'out.jsonl')
  await scripted.command('export', session, '-o', file)
  expect(((await stat(file)).mode & 0o777).toString(8)).toBe('600')
})
