/*
 * `keys list` writes no control characters of an owner to the terminal. Today it writes them as they are.
 *
 * Suite: test/cli/commands/
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'

let scripted: ScriptedProgram
beforeAll(async () => void (scripted = await startScriptedProgram()))
afterAll(() => scripted.close())

test.fails('keys list shows control characters of an owner as escapes', async () => {
  const owner = 'o\u001B]0;title\u0007'
  await scripted.command('keys', 'create', '--tenant', 't', '--scope', 'read', '--owner', owner)
  const output = await scripted.command('keys', 'list')
  expect(output).toContain(']0;title')
  expect(output).not.toContain('\u001B]0')
})
