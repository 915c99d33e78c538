import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

/** Memory use that a started program reports, in MB: before its work (`idle`), and its maximum (`most`). */
export interface UsedMemory {
  readonly idle: number
  readonly most: number
  readonly result: unknown
}

/** Runs a program with a heap limit (MB), and returns its report of memory. Rejects if the program fails. */
export async function memoryOf(
  program: string,
  { heap, args, env = {} }: { readonly heap: number; readonly args: readonly string[]; readonly env?: object },
): Promise<UsedMemory> {
  const flags = [`--max-old-space-size=${heap}`, '--max-semi-space-size=8']
  const child = spawn(process.execPath, [...flags, program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  const [said, code] = await Promise.all([
    text(child.stdout),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${said}`)
  return JSON.parse(said.trim().split('\n').at(-1) ?? '') as UsedMemory
}

const POLL_INTERVAL_MS = 20

/** Executes `work` and prints the memory that it used. Called by programs that `memoryOf` starts. */
export async function sayMemory(work: () => Promise<unknown>): Promise<void> {
  const idle = process.memoryUsage.rss()
  let most = idle
  const looking = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), POLL_INTERVAL_MS)
  const result = await work()
  clearInterval(looking)
  process.stdout.write(`\n${JSON.stringify({ idle: idle / 1e6, most: most / 1e6, result })}\n`)
}
