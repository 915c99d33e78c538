import { basename } from 'node:path'
import type { Agent } from '../../domain/agent.ts'
import { demoTools } from '../../tools/demo-tools.ts'
import { readAgentsWithoutTools } from '../settings/agents-file.ts'
import type { Settings } from '../settings/config.ts'
import { readTools } from './tools-file.ts'

/**
 * For each agent without `tools` in `agents.json`, describes its tools and their origin. Agents with equal tools share
 * one line.
 */
export async function unlistedTools(
  { agentsFile, toolsFile }: Pick<Settings, 'agentsFile' | 'toolsFile'>,
  agents: ReadonlyMap<string, Agent>,
): Promise<string[]> {
  const own = new Set(toolsFile === undefined ? [] : (await readTools(toolsFile)).map(({ name }) => name))
  const shown = new Set(demoTools.map(({ name }) => name))
  const originOf = (tool: string): string =>
    own.has(tool) ? basename(toolsFile ?? '') : shown.has(tool) ? 'demo' : 'built in'
  const named = new Map<string, string[]>()
  for (const name of readAgentsWithoutTools(agentsFile)) {
    const { tools = [], mcp = [] } = agents.get(name) ?? {}
    const origins = Map.groupBy(tools, originOf)
    const lists = [
      ...[...origins].map(([origin, list]) => `${list.join(', ')} (${origin})`),
      ...mcp.map((server) => `${server.tools?.join(', ') ?? 'all tools'} (MCP server ${server.name})`),
    ]
    const text = lists.join(', ')
    named.set(text, [...(named.get(text) ?? []), name])
  }
  return [...named].map(([text, names]) => {
    const subject = names.length === 1 ? `agent ${names[0]} has` : `agents ${names.join(', ')} have`
    return `${subject} no "tools" in agents.json and may call ${text}`
  })
}
