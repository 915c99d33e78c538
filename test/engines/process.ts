import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { definedFields } from '../../functions/domain/defined-fields.ts'

/** A running engine. */
export interface Engine {
  readonly endpoint: string
  readonly pid?: number
  stop(): Promise<void>
}

interface EngineProcess {
  readonly name: string
  readonly port: number
  readonly command: string
  readonly args: readonly string[]
  readonly env?: { readonly [name: string]: string }
  /** Whether the engine responds at this endpoint; a rejection means that it does not respond yet. */
  readonly healthy: (endpoint: string) => Promise<boolean>
  readonly timeoutMs: number
  /** A folder for this process alone, removed after its stop. */
  readonly scratch: string
}

const STOP_MS = 10_000
const LOG_TAIL = 2_000

/** Ports below the range for outgoing connections, so no connection takes a port before its engine listens. */
const PORTS = { first: 10_000, count: 22_000 }
const PORTS_TRIED = 50

/** A port of the loopback interface that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < PORTS_TRIED; tried++) {
    const port = PORTS.first + randomInt(PORTS.count)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
  throw new Error(`none of ${PORTS_TRIED} ports was free`)
}

/** A new folder for one engine's data, which OpenSearch's own user can enter. */
export async function makeScratch(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `tooltrail-${name}-`))
  await chmod(folder, 0o755)
  return folder
}

/** Starts a server and waits until it is healthy. Rejects with the end of its output after the time limit. */
export async function startProcess(engine: EngineProcess): Promise<Engine> {
  const log = join(engine.scratch, 'output.log')
  const output = createWriteStream(log)
  await once(output, 'open')
  const child = spawn(engine.command, engine.args, {
    cwd: engine.scratch,
    env: { ...process.env, ...engine.env },
    stdio: ['ignore', output, output],
  })
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? code}`))
  })
  const killWithParent = (): void => void child.kill('SIGKILL')
  process.once('exit', killWithParent)
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    const stopped = await Promise.race([ended, sleep(STOP_MS, undefined, { ref: false })])
    if (stopped === undefined) child.kill('SIGKILL')
    await ended
    process.off('exit', killWithParent)
    output.destroy()
    await rm(engine.scratch, { recursive: true, force: true })
  }
  const endpoint = `http://127.0.0.1:${engine.port}`
  const problem = await waitUntilHealthy(engine, endpoint, ended)
  if (problem === undefined) return { endpoint, ...definedFields({ pid: child.pid }), stop }
  const tail = (await readFile(log, 'utf8')).slice(-LOG_TAIL)
  await stop()
  throw new Error(`${engine.name} did not start: ${problem}\n${tail}`)
}

async function waitUntilHealthy(
  engine: EngineProcess,
  endpoint: string,
  ended: Promise<string>,
): Promise<string | undefined> {
  const deadline = Date.now() + engine.timeoutMs
  while (Date.now() < deadline) {
    const ready = await engine.healthy(endpoint).catch(() => false)
    if (ready) return undefined
    const end = await Promise.race([ended, sleep(100)])
    if (end !== undefined) return end
  }
  return `it did not respond within ${engine.timeoutMs} ms`
}

/** Runs a command to its end. Rejects with its output if it fails. */
export async function runCommand(command: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${output.slice(-LOG_TAIL)}`)
}
