import { createConnection, nameOf } from '../../functions/adapters/mcp/connection.ts'
import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'
import type { JsonObject } from '../../functions/domain/json.ts'

/**
 * Client program for the official suite. It lists the server's tools as a run does. Then it makes the calls that the scenario
 * names. If the scenario names no calls, it calls each tool once.
 */
const url = process.argv.at(-1) ?? ''
const connection = createConnection({
  url,
  headers: async () => ({}),
  longestMs: 20_000,
  version: '1',
  allowedHosts: [new URL(url).host],
  clock: createSystemClock(),
})

interface Call {
  readonly name: string
  readonly arguments: JsonObject
}
const { toolCalls } = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as { toolCalls?: readonly Call[] }
const { tools, refused } = await connection.list()
const shown = tools.flatMap((tool) => nameOf(tool) ?? []).filter((name) => !refused.includes(name))
const schema = tools.find((tool) => nameOf(tool) === 'json_schema_2020_12_tool') as JsonObject | undefined
// This tool checks the schema that the client received for another tool.
const ofTool = (name: string): Call =>
  name === 'json_schema_echo'
    ? { name, arguments: { schema: schema?.['inputSchema'] ?? null } }
    : { name, arguments: { a: 5, b: 3 } }
for (const call of toolCalls ?? shown.map(ofTool)) {
  const options = { tenant: 'default', signal: AbortSignal.timeout(20_000), timeoutMs: 20_000 }
  // A scenario may end a call with an error. The scenario's checks decide whether the error is correct.
  await connection.call(call.name, call.arguments, options).catch((error: unknown) => console.error(call.name, error))
}
process.exit(0)
