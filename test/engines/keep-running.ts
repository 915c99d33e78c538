import { ENGINE_NAMES, endpointVariable, startEngine } from './engines.ts'
import type { EngineName } from './engines.ts'
import type { Engine } from './process.ts'

/** `npm run engines [names]`: runs the engines until it is interrupted, and prints the variables that select them. */
const wanted = ENGINE_NAMES.filter((name) => process.argv.length < 3 || process.argv.includes(name))
const started = await Promise.all(wanted.map(start))
const running = started.filter((engine) => engine !== undefined)
if (running.length === 0) process.exit(1)
process.stdout.write('Engines run until you press Ctrl+C.\n')
const idle = setInterval(() => {}, 60_000)
const stop = (): void => {
  clearInterval(idle)
  void Promise.all(running.map((engine) => engine.stop()))
}
process.once('SIGINT', stop)
process.once('SIGTERM', stop)

async function start(name: EngineName): Promise<Engine | undefined> {
  try {
    const engine = await startEngine(name)
    process.stdout.write(`export ${endpointVariable(name)}=${engine.endpoint}\n`)
    return engine
  } catch (error) {
    process.stderr.write(`${name} left out: ${error instanceof Error ? error.message : String(error)}\n`)
    return undefined
  }
}
