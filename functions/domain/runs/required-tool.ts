import type { Agent } from '../agent.ts'
import { DELEGATE_TOOL } from './team.ts'

/** A tool that an agent must call (policy `require_tool`) and that does not exist. */
export interface MissingTool {
  readonly tool: string
  /** The agent with the policy: the agent itself, or a member of its team. */
  readonly agent: string
}

/**
 * Finds a tool that an agent or a team member must call but does not have. Undefined if there is none. `brought`: the
 * client tools of the run. A name that may belong to an MCP server's tool counts as present, because these tools are
 * known only during a run.
 */
export function missingTool(
  agents: ReadonlyMap<string, Agent>,
  name: string,
  brought: readonly string[],
): MissingTool | undefined {
  const agent = agents.get(name)
  if (agent === undefined) return undefined
  const { policies, members = [] } = agent
  const required = policies.requireTool
  if (required !== null && required !== 'any' && !hasTool(agent, required.name) && !brought.includes(required.name))
    return { tool: required.name, agent: name }
  for (const member of members) {
    const missing = missingTool(agents, member, brought)
    if (missing !== undefined) return missing
  }
  return undefined
}

/** The error text for a missing tool. */
export const missingToolText = ({ tool, agent }: MissingTool): string =>
  `agent ${agent} must call ${tool} (policy require_tool), and has no tool of this name`

/** Whether the agent has a tool of this name. A name that begins with that of an MCP server may belong to its tools. */
export const hasTool = ({ tools, mcp = [], members = [] }: Agent, name: string): boolean =>
  tools.includes(name) ||
  mcp.some((server) => name.startsWith(server.name)) ||
  (name === DELEGATE_TOOL && members.length > 0)
