import { afterEach, expect, test } from 'vitest'
import { makeTool, openHarness } from '../../harness.ts'
import type { Harness } from '../../harness.ts'

let harness: Harness
afterEach(() => harness.close())

const clientTools = [{ name: 'crm__find', description: 'mine', parameters: { type: 'object' } }]

test('a tool of an MCP server overrides a client tool of the same name, with a warning', async () => {
  const tool = { ...makeTool('crm__find', async () => ({ text: 'found' })), isOfServer: true as const }
  const script = [{ calls: [{ name: 'crm__find', id: 'c' }] }, { text: 'Done.' }]
  harness = await openHarness({ script, tools: [tool] })
  const run = await harness.settled(await harness.submit('go', { clientTools }))
  expect(run.status).toBe('completed')
  expect(harness.requests[0]?.tools.map(({ name, description }) => [name, description])).toEqual([
    ['crm__find', tool.description],
  ])
  const warnings = harness.events.filter(({ type }) => type === 'warning')
  expect(warnings).toMatchObject([{ code: 'client_tool_ignored' }])
})
