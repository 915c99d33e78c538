import type { Tool, Tools } from '../ports/tool.ts'
import { currentTime } from '../tools/current-time.ts'
import { createHttpFetchTool } from '../tools/http-fetch.ts'
import { readOutput } from '../tools/read-output.ts'
import { searchHistory } from '../tools/search-history.ts'
import { tools as customTools } from './custom-tools.ts'

/**
 * The tools that agents may name, in the order in which the default agent declares them: the built-in ones, then custom
 * ones. One with a built-in tool's name replaces it.
 */
export function builtInTools(own: readonly Tool[] = customTools): Tools {
  const tools: Tool[] = [searchHistory, readOutput, currentTime, createHttpFetchTool(), ...own]
  return new Map(tools.map((tool) => [tool.name, tool]))
}

/** The default tools of agents on AWS: inside a network, an agent must name `http_fetch` to get it. */
export const withoutHttpFetch = (tools: Tools): string[] => [...tools.keys()].filter((name) => name !== 'http_fetch')
