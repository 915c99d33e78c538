import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { builtInTools } from '../../../functions/runtime/built-in-tools.ts'
import { readAgents } from '../../../functions/runtime/settings/agents-file.ts'
import { SettingsError } from '../../../functions/runtime/settings/settings-error.ts'
import { readTools } from '../../../functions/runtime/local/tools-file.ts'
import { unlistedTools } from '../../../functions/runtime/local/unlisted-tools.ts'

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-tools-'))
afterAll(() => rmSync(folder, { recursive: true }))

const moduleOf = (text: string): string => {
  const path = join(folder, `${crypto.randomUUID()}.mjs`)
  writeFileSync(path, text)
  return path
}

test('agents without a list of tools are reported, with the origin of each tool that they may call', async () => {
  const toolsFile = resolve(import.meta.dirname, '../../lib/sample-tools.ts')
  const tools = builtInTools(await readTools(toolsFile))
  const docs = { url: 'https://docs.example.com/mcp' }
  const agents = { a: { tools: 'all' }, b: {}, c: { tools: ['current_time'] }, d: { mcp: { docs } } }
  const path = join(folder, 'agents.json')
  writeFileSync(path, JSON.stringify({ agents }))
  const at = { path, named: true }
  const read = readAgents(at, { model: 'demo/demo', tools, defaultTools: [...tools.keys()] })
  expect(read.get('a')).toEqual({ ...read.get('b'), name: 'a' })
  const own = 'search_history, read_output, current_time, http_fetch (built in), stock_level (sample-tools.ts)'
  expect(await unlistedTools({ agentsFile: at, toolsFile }, read)).toEqual([
    `agents default, b have no "tools" in agents.json and may call ${own}`,
    `agent d has no "tools" in agents.json and may call ${own}, all tools (MCP server docs)`,
  ])
})

describe('a module with custom tools', () => {
  test('adds its tools after the built-in ones', async () => {
    const tools = await readTools(resolve(import.meta.dirname, '../../lib/sample-tools.ts'))
    expect([...builtInTools(tools).keys()]).toEqual([...builtInTools().keys(), 'stock_level'])
  })

  test('replaces a built-in tool of the same name', async () => {
    const [own] = await readTools(
      moduleOf(`export const tools = [{ name: 'current_time', parameters: {}, execute() {} }]`),
    )
    expect(own).toBeDefined()
    expect(builtInTools(own === undefined ? [] : [own]).get('current_time')).toBe(own)
  })

  test.each([
    ['export const other = []', 'must export "tools"'],
    ['export const tools = [{}]', 'must export "tools"'],
    ['throw new Error("no database")', 'no database'],
  ])('is refused if its text is %s, with an error that names its path', async (text, reason) => {
    const path = moduleOf(text)
    const refused = await readTools(path).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(SettingsError)
    expect((refused as Error).message).toContain(path)
    expect((refused as Error).message).toContain(reason)
  })
})
