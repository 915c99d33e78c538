import type { Tool, ToolRegistry, Tools } from '../../ports/tool.ts'

export interface InFlightCalls {
  /** The registry's tools, wrapped so that their executions are tracked. */
  readonly tools: ToolRegistry
  /** Resolves when no tool executes any more, including calls that the loop has abandoned. */
  ended(): Promise<void>
}

/** Tracks executing tools, even after their run has ended: a tool may ignore its signal. */
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
