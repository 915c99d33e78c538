import type { AppDependencies } from '../http/dependencies.ts'
import { messageMaker } from '../http/v1/messages/resource.ts'
import { searchHitResource, understoodResource } from '../http/v1/search/resource.ts'
import { sessionResource } from '../http/v1/sessions/resource.ts'
import type { McpDependencies } from '../mcp/serving.ts'

/**
 * Opens the MCP server over the backend. Its package is loaded with the first request, because most processes never get
 * one.
 */
export function openMcp(dependencies: Omit<McpDependencies, 'shapes'>): AppDependencies['mcp'] {
  const shapes = {
    session: sessionResource,
    messages: messageMaker,
    searchHit: searchHitResource,
    understood: understoodResource,
  }
  let opening: Promise<AppDependencies['mcp']> | undefined
  const open = async (): Promise<AppDependencies['mcp']> =>
    (await import('../mcp/serving.ts')).createMcpServing({ ...dependencies, shapes })
  return async (request, visit) => (await (opening ??= open()))(request, visit)
}
