import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient } from './client.ts'
import type { Client } from './client.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const START_MS = 300_000
/**
 * Node flags of `npm start` for the memory of new objects. With half of Node's default, a busy program uses a fifth
 * less memory and is as fast.
 */
const FLAGS = startFlags(readFileSync(join(ROOT, 'package.json'), 'utf8'))
/** Environment variables of the test run that the program must not get. */
const NO_MODELS = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', AWS_REGION: '', MODEL: '', MODEL_BASE_URL: '' }

export interface RunningProgram {
  readonly client: Client
  readonly pid: number
  /** Text on standard error so far. */
  log(): string
  /** Resolves when the program has ended, with the signal that ended it. */
  readonly ended: Promise<NodeJS.Signals | null>
  hasEnded(): boolean
  /** The exit code. Null while the program runs, and if a signal ended it. */
  exitCode(): number | null
  /** Kills the program, by default with SIGKILL. */
  kill(signal?: NodeJS.Signals): Promise<void>
}

/** The error of a program that ended before it accepted requests. */
export class EndedEarly extends Error {
  override readonly name = 'EndedEarly'
  /** Signal that ended the program. Null if the program ended by itself. */
  readonly signal: NodeJS.Signals | null

  constructor(signal: NodeJS.Signals | null, output: string) {
    super(`the program ended before it started, ${signal === null ? 'by itself' : `by ${signal}`}: ${output}`)
    this.signal = signal
  }
}

/** Starts the real program, or a variant of it, in a separate process on a free port. Resolves when it accepts requests. */
export async function startProgram(options: {
  /** Settings of the program. They must name its backend. */
  readonly env: Readonly<Record<string, string>>
  /** A module under `test/` that starts a variant of the program. Default: the program itself. */
  readonly composition?: string
}): Promise<RunningProgram> {
  const entry = options.composition ?? 'functions/handlers/local.ts'
  const child = spawn(process.execPath, [...FLAGS, entry], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...NO_MODELS,
      PORT: '0',
      LOG_LEVEL: 'warn',
      ...options.env,
    },
  })
  const log: string[] = []
  child.stderr.on('data', (chunk: Buffer) => log.push(chunk.toString()))
  const ended = once(child, 'exit').then(([, signal]) => signal as NodeJS.Signals | null)
  const url = await readUrl(child, ended, log)
  return {
    client: createClient(url),
    pid: child.pid ?? 0,
    log: () => log.join(''),
    ended,
    exitCode: () => child.exitCode,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    async kill(signal = 'SIGKILL') {
      child.kill(signal)
      await ended
    },
  }
}

function startFlags(manifest: string): readonly string[] {
  const { scripts } = JSON.parse(manifest) as { readonly scripts: { readonly start: string } }
  return scripts.start.split(' ').filter((word) => word.startsWith('--max'))
}

/** Reads the address from the first line that the program writes. */
async function readUrl(
  child: ChildProcess,
  ended: Promise<NodeJS.Signals | null>,
  log: readonly string[],
): Promise<string> {
  let text = ''
  const found = new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no start within ${START_MS} ms: ${log.join('')}`)), START_MS)
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const url = /http:\/\/\S+/.exec(text)?.[0]
      if (url === undefined) return
      clearTimeout(timer)
      resolve(url)
    })
    void ended.then((signal) => {
      clearTimeout(timer)
      reject(new EndedEarly(signal, `${text}${log.join('')}`))
    })
  })
  return found
}
