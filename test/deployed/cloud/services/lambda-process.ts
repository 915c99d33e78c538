import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MAX_PAYLOAD_BYTES, startRuntimeApi } from './runtime-api.ts'
import type { Outcome, ResponseSink } from './runtime-api.ts'
import { REGION } from '../../../engines/region.ts'

const NODE = join(import.meta.dirname, '..', '..', '..', '..', 'node_modules', '.bin', 'node')
/**
 * Time limit of a function's start. Lambda allows 10 s. The limit here is longer, because this machine also runs all
 * engines.
 */
const INIT_MS = 60_000
const MEMORY_POLL_MS = 100
const KB = 1024
const TAIL = 2_000
const LOG_CHARACTERS = 4_000_000

/** A function with the properties of its template. */
export interface LambdaFunction {
  readonly name: string
  readonly arn: string
  /** The unpacked bundle. */
  readonly folder: string
  readonly handler: string
  readonly environment: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly memoryMb: number
}

/** An execution environment: one process with one invocation at a time, frozen between invocations. */
export interface LambdaProcess {
  readonly pid: number
  isIdle(): boolean
  hasEnded(): boolean
  invoke(event: unknown, sink?: ResponseSink): Promise<Outcome>
  /** Kills the process, as the loss of a machine would. */
  kill(): Promise<void>
}

interface Options {
  /** The runtime client: a `file:` URL. */
  readonly client: string
  readonly environment: Readonly<Record<string, string>>
  readonly log: string[]
  /** Called when an invocation has ended and the process is frozen. */
  readonly frozen: () => void
  readonly peakMb: (megabytes: number) => void
}

/**
 * Starts a function's bundle under Lambda's runtime client. Resolves when the process has requested its first event, or
 * has failed.
 */
export async function startLambdaProcess(lambda: LambdaFunction, options: Options): Promise<LambdaProcess> {
  let running: { readonly id: string; settle: (outcome: Outcome) => void } | undefined
  let idle = false
  let ended = false
  let initProblem: string | undefined
  let why: Outcome | undefined
  let whenIdle = (): void => {}

  const api = await startRuntimeApi({
    idle() {
      idle = true
      child.kill('SIGSTOP')
      if (running === undefined) whenIdle()
      else options.frozen()
      running?.settle({ ok: false, errorType: 'Runtime.NoResponse', message: 'the next event was asked for before' })
    },
    outcome: (id, outcome) => {
      if (running?.id === id) running.settle(outcome)
    },
    initFailed: (message) => void (initProblem = message.slice(0, 500)),
  })
  const child = spawn(NODE, [...heapLimits(lambda), fileURLToPath(options.client), lambda.handler], {
    cwd: lambda.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...reservedVariables(lambda, api.address), ...lambda.environment, ...options.environment },
  })
  const write = (chunk: Buffer): void => {
    if (options.log.length < LOG_CHARACTERS) options.log.push(chunk.toString())
  }
  child.stdout.on('data', write)
  child.stderr.on('data', write)
  const exited = once(child, 'exit').then(async ([code, signal]) => {
    ended = true
    clearInterval(memory)
    running?.settle(
      why ?? {
        ok: false,
        errorType: 'Runtime.ExitError',
        message: `the process ended with ${signal ?? code}: ${options.log.slice(-5).join('').slice(-TAIL)}`,
      },
    )
    whenIdle()
    await api.stop()
  })
  const end = (reason?: Outcome): void => {
    why ??= reason
    child.kill('SIGKILL')
  }
  const killWithParent = (): void => end()
  process.once('exit', killWithParent)
  void exited.then(() => process.off('exit', killWithParent))
  const memory = setInterval(() => {
    void residentMb(child.pid).then((used) => {
      options.peakMb(used)
      if (used <= lambda.memoryMb) return
      end({ ok: false, errorType: 'Runtime.OutOfMemory', message: `${used} MB of ${lambda.memoryMb} MB` })
    })
  }, MEMORY_POLL_MS)

  const tooLate = setTimeout(() => end(), INIT_MS)
  await new Promise<void>((resolve) => (whenIdle = resolve))
  clearTimeout(tooLate)

  return {
    pid: child.pid ?? 0,
    isIdle: () => idle && !ended,
    hasEnded: () => ended,
    async invoke(event, sink) {
      const text = JSON.stringify(event)
      if (Buffer.byteLength(text) > MAX_PAYLOAD_BYTES)
        return { ok: false, errorType: 'RequestEntityTooLarge', message: `${Buffer.byteLength(text)} bytes` }
      if (ended) return { ok: false, errorType: 'Runtime.InitError', message: initProblem ?? 'the process ended' }
      idle = false
      const id = randomUUID()
      const seconds = lambda.timeoutMs / 1_000
      const timer = setTimeout(
        () => end({ ok: false, errorType: 'Sandbox.Timedout', message: `Task timed out after ${seconds} seconds` }),
        lambda.timeoutMs,
      )
      const outcome = new Promise<Outcome>((settle) => (running = { id, settle }))
      child.kill('SIGCONT')
      api.give({ id, event: text, arn: lambda.arn, deadline: Date.now() + lambda.timeoutMs, sink })
      try {
        return await outcome
      } finally {
        clearTimeout(timer)
      }
    },
    async kill() {
      end()
      await exited
    },
  }
}

/** Node flags for the heap, as the managed runtime sets them. */
const heapLimits = ({ memoryMb }: LambdaFunction): string[] => [
  `--max-semi-space-size=${Math.max(1, Math.floor(memoryMb * 0.05))}`,
  `--max-old-space-size=${Math.floor(memoryMb * 0.9)}`,
]

/** Variables that Lambda sets for every function. This machine's own environment is not passed on. */
function reservedVariables(lambda: LambdaFunction, runtimeApi: string): Record<string, string> {
  return {
    AWS_LAMBDA_RUNTIME_API: runtimeApi,
    AWS_LAMBDA_FUNCTION_NAME: lambda.name,
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(lambda.memoryMb),
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${lambda.name}`,
    AWS_LAMBDA_LOG_STREAM_NAME: `[$LATEST]${randomUUID()}`,
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
    AWS_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'localsecret',
    LAMBDA_TASK_ROOT: lambda.folder,
    LAMBDA_RUNTIME_DIR: '/var/runtime',
    _HANDLER: lambda.handler,
    PATH: '/usr/local/bin:/usr/bin:/bin',
    TZ: ':UTC',
    LANG: 'en_US.UTF-8',
  }
}

async function residentMb(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / KB)
}
