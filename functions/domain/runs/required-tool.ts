import type { Agent } from '../agent.ts'
import { DELEGATE_TOOL } from './team.ts'

/** A tool that an agent must call (policy `require_tool`) and that nobody has. */
export interface MissingTool {
  readonly tool: string
  /** Whose policy it is: the agent's own, or that of a member of its team. */
  readonly agent: string
}

/**
 * The tool that an agent, or somebody in its team, must call and has not, in a run that brings `brought`; undefined: there is none.
 * Names that may be those of an MCP server's tools count as there: only a run knows them.
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

/** What is wrong, in words. */
export const missingToolText = ({ tool, agent }: MissingTool): string =>
  `agent ${agent} must call ${tool} (policy require_tool), and has no tool of this name`

const hasTool = ({ tools, mcp = [], members = [] }: Agent, name: string): boolean =>
  tools.includes(name) ||
  mcp.some((server) => name.startsWith(server.name)) ||
  (name === DELEGATE_TOOL && members.length > 0)
