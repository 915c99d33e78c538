import type { ToolRegistry, Tools } from '../ports/tool.ts'

/** Creates a registry of the tools of this process. */
export function createToolList(tools: Tools): ToolRegistry {
  return {
    async open(agent) {
      const listed = agent.tools.map((name) => [name, tools.get(name)] as const)
      return new Map(listed.flatMap(([name, tool]) => (tool === undefined ? [] : [[name, tool]])))
    },
  }
}
