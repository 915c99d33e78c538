import type { Tool, ToolRegistry, Tools } from '../../ports/tool.ts'

export interface InFlightCalls {
  /** The same tools, whose executions are known. */
  readonly tools: ToolRegistry
  /** Resolves when none executes any more, among them those that the loop has given up. */
  ended(): Promise<void>
}

/** Knows what tools execute, however long after their run: a tool need not heed its signal. */
export function trackToolCalls(registry: ToolRegistry): InFlightCalls {
  const inFlight = new Set<Promise<unknown>>()

  function known(tool: Tool): Tool {
    return {
      ...tool,
      execute(input, context) {
        const running = tool.execute(input, context)
        inFlight.add(running)
        const forget = (): void => void inFlight.delete(running)
        running.then(forget, forget)
        return running
      },
    }
  }

  return {
    tools: {
      async open(agent, run): Promise<Tools> {
        const tools = await registry.open(agent, run)
        return new Map(Array.from(tools, ([name, tool]) => [name, known(tool)]))
      },
    },
    async ended() {
      while (inFlight.size > 0) await Promise.allSettled(inFlight)
    },
  }
}
