import type { App, RouteDependencies } from './dependencies.ts'

/**
 * The Model Context Protocol at `POST /mcp`: its own messages and errors once the caller may read. It keeps no session, so GET
 * and DELETE are refused with 405.
 */
export function mcpRoutes(app: App, { mcp, calls }: RouteDependencies): void {
  app.post('/mcp', (c) => mcp(c.req.raw, { caller: c.get('caller'), calls }))
}
