/* Evidence, replay: A run that must call a tool is refused if neither the agent nor the client has that tool. */
import { expect, test } from 'vitest'
import { missingTool } from '../../../functions/domain/runs/required-tool.ts'
import { parseAgents } from '../../../functions/runtime/settings/agents-file.ts'
import { builtInTools } from '../../../functions/runtime/built-in-tools.ts'

const agentsOf = (agents: object) =>
  parseAgents({ agents }, { model: 'demo/demo', tools: builtInTools(), defaultTools: [] })
const needs = (name: string) => ({ policies: { require_tool: name } })

test('a required tool belongs to the agent, or the client adds it to the run', () => {
  const agents = agentsOf({
    a: needs('stock'),
    b: { ...needs('current_time'), tools: ['current_time'] },
    c: needs('any'),
  })
  expect(missingTool(agents, 'a', [])).toEqual({ tool: 'stock', agent: 'a' })
  expect(missingTool(agents, 'a', ['stock'])).toBeUndefined()
  expect(missingTool(agents, 'b', [])).toBeUndefined()
  expect(missingTool(agents, 'c', [])).toBeUndefined()
  expect(missingTool(agents, 'nobody', [])).toBeUndefined()
})

test('the required tool of every member must exist, too', () => {
  const agents = agentsOf({ lead: { members: ['one'] }, one: { members: ['two'] }, two: needs('stock') })
  expect(missingTool(agents, 'lead', ['other'])).toEqual({ tool: 'stock', agent: 'two' })
  expect(missingTool(agents, 'lead', ['stock'])).toBeUndefined()
})

test('a leader may require the delegation tool, and a tool of an MCP server counts as present', () => {
  const agents = agentsOf({
    lead: { members: ['one'], ...needs('delegate_task_to_member') },
    one: {},
    served: { ...needs('crm_find'), mcp: { crm: { url: 'https://crm.example.com/mcp' } } },
  })
  expect(missingTool(agents, 'lead', [])).toBeUndefined()
  expect(missingTool(agents, 'one', [])).toBeUndefined()
  expect(missingTool(agents, 'served', [])).toBeUndefined()
})
