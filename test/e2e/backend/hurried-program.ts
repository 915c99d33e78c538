import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { readSettings } from '../../../functions/runtime/settings/config.ts'
import { startLocal } from '../../../functions/runtime/local/start.ts'
import { openPorts } from '../../../functions/runtime/local/open-ports.ts'
import { stopOnSignals } from '../../../functions/runtime/local/stop-signals.ts'

/** Factor by which every wait is shorter. */
const HURRY = 10

// The program with a correct clock and short waits: 15 s take 1.5 s.
const system = createSystemClock()
const clock = { ...system, sleep: (ms: number, signal?: AbortSignal) => system.sleep(ms / HURRY, signal) }
const settings = readSettings()
const server = await startLocal(settings, { ports: await openPorts(settings, clock) })
process.stdout.write(`${server.url}\n`)
// If the test is stopped, the test's end of the pipe closes. This process must then end by itself.
process.stdin.resume().once('end', () => process.exit(1))
stopOnSignals(server.close)
