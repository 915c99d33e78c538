import type { McpConnection } from '../adapters/mcp/connection.ts'
import type { Agent, McpServer } from '../domain/agent.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { OutputStore } from '../ports/output-store.ts'
import type { ToolRegistry } from '../ports/tool.ts'
import { secretNames, withSecrets } from './settings/named-secrets.ts'
import { VERSION } from './version.ts'

export interface McpSettings {
  readonly agents: ReadonlyMap<string, Agent>
  readonly outputs: OutputStore
  readonly clock: Clock
  readonly logger: Logger
  readonly allowedHosts: readonly string[]
  /** Reads the current values of the secrets that settings name. */
  secrets(): Promise<(name: string) => string | undefined>
}

/**
 * Adds the tools of agents' MCP servers to a registry. The MCP package is loaded when the first agent with a server is
 * opened. Agents with equal settings for a server share one connection to it.
 */
export function withMcpTools(settings: McpSettings): (list: ToolRegistry) => ToolRegistry {
  return (list) => {
    let opening: Promise<ToolRegistry> | undefined
    return {
      async open(agent, run) {
        if (agent.mcp === undefined) return list.open(agent, run)
        opening ??= openRegistry(settings, list)
        return (await opening).open(agent, run)
      },
    }
  }
}

async function openRegistry(settings: McpSettings, list: ToolRegistry): Promise<ToolRegistry> {
  const { agents, outputs, clock, allowedHosts } = settings
  const { createConnection } = await import('../adapters/mcp/connection.ts')
  const { hideSecrets } = await import('../adapters/mcp/hide-secrets.ts')
  const { createMcpToolRegistry } = await import('../adapters/mcp/tool-registry.ts')
  const connections = new Map<string, McpConnection>()
  const all = [...agents.values()].flatMap(({ mcp = [] }) => mcp)
  const longestMs = Math.max(0, ...all.map(({ timeoutMs }) => timeoutMs))
  const connect = ({ url, headers }: McpServer): McpConnection => {
    const name = JSON.stringify([url, headers])
    const known = connections.get(name)
    if (known !== undefined) return known
    const sent = async () => {
      try {
        const secret = await settings.secrets()
        const filled = Object.entries(headers).map(([key, value]) => [key, withSecrets(value, secret)])
        const secrets = Object.values(headers)
          .flatMap(secretNames)
          .map((one) => secret(one) ?? '')
        return { headers: Object.fromEntries(filled) as Record<string, string>, secrets }
      } catch (error) {
        settings.logger.error('an MCP server cannot be asked: its headers need a secret', error, {
          host: new URL(url).host,
        })
        throw error
      }
    }
    const opened = createConnection({
      url,
      headers: async () => (await sent()).headers,
      longestMs,
      version: VERSION,
      allowedHosts,
      clock,
    })
    const hidden = hideSecrets(opened, { url, sent })
    connections.set(name, hidden)
    return hidden
  }
  return createMcpToolRegistry({ list, outputs, connect })
}
