import type { Tool, ToolRegistry } from '../ports/tool.ts'
import { currentTime } from '../tools/current-time.ts'
import { createHttpFetchTool } from '../tools/http-fetch.ts'
import { readOutput } from '../tools/read-output.ts'
import { searchHistory } from '../tools/search-history.ts'

/** The tools that agents may name, in the order in which the default agent declares them. Add your own here. */
export function builtInTools(): ToolRegistry {
  const tools: Tool[] = [searchHistory, readOutput, currentTime, createHttpFetchTool()]
  return new Map(tools.map((tool) => [tool.name, tool]))
}

/** What agents of a deployment on AWS have unless they name it: inside a network, fetching is for those who ask for it. */
export const withoutHttpFetch = (tools: ToolRegistry): string[] =>
  [...tools.keys()].filter((name) => name !== 'http_fetch')
