import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import type { Fault } from './parts/faults.ts'
import { createFaultPoints } from './parts/faults.ts'
import { effectTools } from './parts/effect-tools.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { builtInTools } from '../../../functions/runtime/built-in-tools.ts'
import { readSettings } from '../../../functions/runtime/settings/config.ts'
import { startLocal } from '../../../functions/runtime/local/start.ts'
import { openPorts } from '../../../functions/runtime/local/open-ports.ts'
import { DATABASE } from '../../../functions/runtime/local/private-data.ts'

// The program with waits divided by HURRY and a clock that is ahead. Its tools record their executions. It kills itself
// at the durable step that FAULT names.
const { FAULT, TRACE = '', EFFECTS = '', CLOCK_SHIFT_MS = '0', SLOW_MS, HURRY = '1' } = process.env
const fault = FAULT === undefined ? undefined : (JSON.parse(FAULT) as Fault)
const system = createSystemClock()
const clock = {
  now: () => system.now() + Number(CLOCK_SHIFT_MS),
  sleep: (milliseconds: number, signal?: AbortSignal) => system.sleep(milliseconds / Number(HURRY), signal),
}
const settings = readSettings()
const database = settings.aws === undefined ? join(settings.dataFolder, DATABASE) : undefined
const points = createFaultPoints(fault, TRACE, database)
const tools = [
  ...builtInTools().values(),
  ...effectTools(EFFECTS, SLOW_MS === undefined ? undefined : Number(SLOW_MS)),
].map((tool) => points.tool(tool))
const server = await startLocal(settings, {
  ports: points.ports(await openPorts(settings, clock)),
  tools: new Map(tools.map((tool) => [tool.name, tool])),
})
process.stdout.write(`${server.url}\n`)
flushCompileCache()
// If the test is stopped, the test's end of the pipe closes. This process must then end by itself.
process.stdin.resume().once('end', () => process.exit(1))
process.once('SIGTERM', () => {
  void server.close().then(() => process.exit(0))
})
