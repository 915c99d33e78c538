import type { Tool, Tools } from '../ports/tool.ts'
import { currentTime } from '../tools/current-time.ts'
import { createHttpFetchTool } from '../tools/http-fetch.ts'
import { readOutput } from '../tools/read-output.ts'
import { searchHistory } from '../tools/search-history.ts'
import { tools as customTools } from './custom-tools.ts'

/**
 * Returns the tools that agents may name: built-in tools, then custom tools. The default agent declares them in this
 * order. A custom tool with the name of a built-in tool replaces it.
 */
export function builtInTools(own: readonly Tool[] = customTools): Tools {
  const tools: Tool[] = [searchHistory, readOutput, currentTime, createHttpFetchTool(), ...own]
  return new Map(tools.map((tool) => [tool.name, tool]))
}

/**
 * Returns the default tools of agents on AWS, without `http_fetch`. Inside a network, an agent must name `http_fetch`
 * to get it.
 */
export const withoutHttpFetch = (tools: Tools): string[] => [...tools.keys()].filter((name) => name !== 'http_fetch')
