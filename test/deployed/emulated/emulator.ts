import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** From PyPI: https://pypi.org/project/ministack/ */
const VERSION = '1.5.33'
const OLDEST_PYTHON = [3, 11] as const
const START_TIMEOUT_MS = 120_000
const POLL_INTERVAL_MS = 250
const HERE = import.meta.dirname
const ROOT = resolve(HERE, '../../..')

export interface Emulator {
  readonly port: number
  stop(): Promise<void>
}

/** Error for a program missing on this machine. The message names the program in one line. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}

/** Installs the emulator into the user's cache, once per version. Throws `Unavailable`. */
export function installEmulator(): string {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const folder = join(cache, 'tooltrail', `ministack-${VERSION}`)
  const python = join(folder, 'bin/python')
  requirePython()
  if (existsSync(join(folder, 'bin/ministack'))) return python
  try {
    execFileSync('python3', ['-m', 'venv', folder], { stdio: 'pipe' })
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `ministack==${VERSION}`]
    execFileSync(python, install, { stdio: 'pipe' })
  } catch (error) {
    throw new Unavailable(`the emulator ministack ${VERSION} cannot be installed from PyPI`, { cause: error })
  }
  return python
}

function requirePython(): void {
  const needed = `Python ${OLDEST_PYTHON.join('.')} or newer`
  let version: readonly number[]
  try {
    const printed = execFileSync('python3', ['--version'], { encoding: 'utf8' })
    version = (/(\d+)\.(\d+)/.exec(printed) ?? []).slice(1).map(Number)
  } catch (error) {
    throw new Unavailable(`there is no ${needed}`, { cause: error })
  }
  const [major = 0, minor = 0] = version
  if (major < OLDEST_PYTHON[0] || (major === OLDEST_PYTHON[0] && minor < OLDEST_PYTHON[1]))
    throw new Unavailable(`there is Python ${version.join('.')} and no ${needed}`)
}

/** Starts the emulator on a free port of loopback, with IAM enforced. `folder` gets its log and its files. */
export async function startEmulator(
  python: string,
  { folder, searchEndpoint }: { readonly folder: string; readonly searchEndpoint: string },
): Promise<Emulator> {
  const port = await freePort()
  const log = createWriteStream(join(folder, 'emulator.log'))
  await once(log, 'open')
  const child = spawn(python, [join(HERE, 'emulator.py')], {
    stdio: ['ignore', log, log],
    env: {
      // Functions run on the project's own Node.
      PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}`,
      HOME: folder,
      TMPDIR: folder,
      PYTHONDONTWRITEBYTECODE: '1',
      GATEWAY_PORT: String(port),
      BIND_HOST: '127.0.0.1',
      MINISTACK_HOST: 'localhost',
      MINISTACK_ACCOUNT_ID: '000000000000',
      MINISTACK_REGION: 'us-east-1',
      AUTH: 'true',
      EMULATED_SEARCH_ENDPOINT: searchEndpoint,
      NODE_OPTIONS: `--import ${join(HERE, 'streamed-responses.ts')}`,
    },
  })
  const exited = once(child, 'exit')
  const stop = async (): Promise<void> => {
    if (child.exitCode === null) child.kill('SIGTERM')
    await exited
  }
  try {
    await untilHealthy(port, () => child.exitCode !== null)
  } catch (error) {
    await stop()
    throw error
  }
  return { port, stop }
}

async function untilHealthy(port: number, hasEnded: () => boolean): Promise<void> {
  for (const until = Date.now() + START_TIMEOUT_MS; Date.now() < until && !hasEnded(); await sleep(POLL_INTERVAL_MS)) {
    const response = await fetch(`http://127.0.0.1:${port}/_localstack/health`).catch(() => undefined)
    if (response?.ok === true) return
  }
  throw new Error(`the emulator did not start within ${START_TIMEOUT_MS} ms: see emulator.log`)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
