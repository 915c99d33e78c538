import type { Agent } from '../../../domain/agent.ts'
import { hasTool } from '../../../domain/runs/required-tool.ts'
import type { RequestSettings } from '../../../domain/runs/request-settings.ts'
import { invalidRequest } from '../../middleware/validation.ts'

const PATH = 'body.tool_choice'

/**
 * Rejects a tool choice that names no tool of the agent or the caller, and one that requires a call although there are
 * no tools. A name that may belong to an MCP server's tool is accepted, because these tools are known only during a
 * run. `field`: the field of the choice that holds the tool's name.
 */
export function refuseUnknownChoice(
  agent: Agent | undefined,
  tools: readonly { readonly name: string }[],
  choice: RequestSettings['toolChoice'],
  field = 'name',
): void {
  if (agent === undefined || choice === undefined || choice === 'auto' || choice === 'none') return
  if (choice === 'required') {
    if (tools.length > 0 || hasTools(agent)) return
    throw invalidRequest([
      { path: PATH, message: `cannot be required: neither the request nor agent ${agent.name} has tools` },
    ])
  }
  if (tools.some(({ name }) => name === choice.name) || hasTool(agent, choice.name)) return
  const message = `names no tool of the request or of agent ${agent.name}: ${choice.name}`
  throw invalidRequest([{ path: `${PATH}.${field}`, message }])
}

const hasTools = ({ tools, mcp = [], members = [] }: Agent): boolean =>
  tools.length > 0 || mcp.length > 0 || members.length > 0
