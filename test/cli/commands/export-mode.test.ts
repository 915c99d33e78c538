import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../../e2e/scripted-program.ts'

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

test('an exported file is readable for its owner only, also if it replaced another file', async () => {
  const session = await scripted.newSession()
  await scripted.ask(session, 'hello')
  const file = join(folder, 'out.jsonl')
  for (const name of [file, `${file}.part`]) await writeFile(name, 'former', { mode: 0o644 })
  await scripted.command('export', session, '-o', file)
  expect(((await stat(file)).mode & 0o777).toString(8)).toBe('600')
})
