/*
 * A client sends a tool whose schema a generator wrote: a pattern that is not valid with the flag u (\: \- \@), one of another
 * dialect ((?i)), an example that is no schema, `required: null`, 20 levels. Arguments are not checked against it, as the tool is not
 * strict, so it goes to the model as it is. Today the whole request is refused with 400, in each of the five formats.
 *
 * Suite: test/http/openai/
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'

let scripted: ScriptedProgram
beforeAll(async () => void (scripted = await startScriptedProgram()))
afterAll(() => scripted.close())

const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more })
const matching = (pattern: string): object => object({ url: { type: 'string', pattern } })
function nested(levels: number): object {
  return levels === 0 ? { type: 'string' } : object({ a: nested(levels - 1) })
}

async function expectAccepted(_name: string, parameters: object, description = ''): Promise<void> {
  const tools = [{ type: 'function', function: { name: 'f', description, parameters } }]
  const request = { model: 'default', messages: [{ role: 'user', content: 'go' }], tools }
  const { status, text } = await scripted.client.send('POST', '/openai/v1/chat/completions', request)
  expect(status, text).toBe(200)
}

test('a tool with a plain schema is accepted', () => expectAccepted('', matching('^a+$')))

test.fails.each([
  ['an escaped colon', matching('^https\\:\\/\\/')],
  ['an escaped hyphen', matching('^[\\w\\-\\.]+\\@x$')],
  ['a pattern of another dialect', matching('(?i)^abc$')],
  ['an example with a key "pattern"', object({ rule: { type: 'object', example: { pattern: '[' } } })],
  ['required: null', object({}, { required: null })],
  ['20 levels', nested(20)],
  ['a description of 9,000 characters', object({}), 'd'.repeat(9_000)],
] as const)('a tool with %s is accepted', expectAccepted)
