import { createConnection, nameOf } from '../../functions/adapters/mcp/connection.ts'
import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'

/** Client program for the official suite: lists the server's tools like a run, and calls each tool once. */
const url = process.argv.at(-1) ?? ''
const connection = createConnection({
  url,
  headers: async () => ({}),
  longestMs: 20_000,
  version: '1',
  allowedHosts: [new URL(url).host],
  clock: createSystemClock(),
})
for (const name of (await connection.list()).tools.map(nameOf))
  await connection.call(
    name ?? '',
    { a: 5, b: 3 },
    { tenant: 'default', signal: AbortSignal.timeout(20_000), timeoutMs: 20_000 },
  )
process.exit(0)
