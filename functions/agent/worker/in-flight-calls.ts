import type { Tool, ToolRegistry, Tools } from '../../ports/tool.ts'

export interface CallsUnderWay {
  /** The same tools, whose executions are known. */
  readonly tools: ToolRegistry
  /** Resolves when none executes any more, among them those that the loop has given up. */
  ended(): Promise<void>
}

/** Knows what tools execute, however long after their run: a tool need not heed its signal. */
export function knowCalls(registry: ToolRegistry): CallsUnderWay {
  const underWay = new Set<Promise<unknown>>()

  function known(tool: Tool): Tool {
    return {
      ...tool,
      execute(input, context) {
        const running = tool.execute(input, context)
        underWay.add(running)
        const forget = (): void => void underWay.delete(running)
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
      while (underWay.size > 0) await Promise.allSettled(underWay)
    },
  }
}
