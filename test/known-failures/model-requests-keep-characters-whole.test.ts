/*
 * A client truncates the description of its tool inside of an emoji (many do, at 1,024 characters). No request to a model has half a
 * surrogate pair. Today the texts of messages are mended; descriptions and schemas of tools, and ids of calls, are not: the provider
 * responds with 400.
 *
 * Suite: test/e2e/
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { halfCharacters } from '../e2e/half-characters.ts'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'

const HALF = '\ud83d'
const plainTool = { name: 'f', description: 'Sends it', parameters: { type: 'object' } }
const properties = { a: { type: 'string', description: `half ${HALF}` } }
const truncatedTool = { name: 'f', description: `Sends it ${HALF}`, parameters: { type: 'object', properties } }

let scripted: ScriptedProgram
beforeAll(async () => void (scripted = await startScriptedProgram()))
afterAll(() => scripted.close())

const halvesOf = (index: number): number => halfCharacters(scripted.requests()[index]?.text ?? '\\ud83d')

async function askWith(tool: object, content: string) {
  scripted.play({ parts: [{ type: 'tool_call', id: `call${HALF}`, name: 'f', arguments: '{}' }] })
  const session = await scripted.newSession()
  return { session, run: await scripted.ask(session, content, { tools: [tool] }) }
}

test('a request has no half character of an input', async () => {
  await askWith(plainTool, `go ${HALF}`)
  expect(halvesOf(0)).toBe(0)
})

test.fails('a request has no half character of a tool', async () => {
  await askWith(truncatedTool, 'go')
  expect(halvesOf(0)).toBe(0)
})

test.fails('a request has no half character of the id of a call', async () => {
  const { session, run } = await askWith(plainTool, 'go')
  const results = [{ message_id: run.waiting?.[0]?.message_id, output: 'r' }]
  const path = `/v1/sessions/${session}/runs/${run.id}/tool-results`
  await scripted.client.post(path, { results }, { prefer: 'wait=60' })
  expect(halvesOf(1)).toBe(0)
})
